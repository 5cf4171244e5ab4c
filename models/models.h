// Which parameters a model has, and of which shape, as data: one table a family; the only header of
// this folder that others include.
//
//   config.json ── table of the family ──▶ "model.layers.3.self_attn.q_proj.weight" [4096, 2560]
//   ...
//
// A field that config.json lacks is not unknown; the model's class fills it in, and the shapes then
// follow from its default.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "models/family.h"

namespace ckpt {

// nullptr where no whole table has it.
const Family* table_of_architecture(std::string_view architecture);
const Family* table_of_model_type(std::string_view model_type);

// Facts of a checkpoint that decide which parameters are expected, and under which names.
struct ModelForm {
  std::string root = "model.";  // what "model." of the text part's names is here
  bool has_head = true;         // of a class that computes logits
  bool has_stacked_experts = false;
  bool has_vision = false, has_mtp = false;
  uint64_t held = 0;  // tensors that are there, each expert of a stack as one
};
uint64_t held_by(const Tensor& tensor);
ModelForm form_of(const std::vector<Tensor>& tensors);  // all else as it is above

struct Parameter {
  std::string name;
  std::vector<uint64_t> shape;  // of the values, whatever they are stored as
  ServerCut cut = ServerCut::kWhole;
  ModelPart part = ModelPart::kText;
  bool is_required = true;  // false: the head of a model that ties it to the embedding
};

// More layers, or experts of all layers, than any model has.
inline constexpr uint64_t kMaxModelLayers = 10'000;
inline constexpr uint64_t kMaxModelParameters = 4'000'000;
// A few bytes of config.json can ask for any number of parameters: those of a model of which few
// tensors are there have another bound, four times what is held and these.
inline constexpr uint64_t kMaxParametersBeyond = 100'000;

// All parameters of a model by `rules`; `defaults` is the table of the configuration's class, which
// is another one when architectures and model_type disagree. `text` is the text part's
// configuration, `vision` the tower's or nullptr.
// Fails: kCorrupt, naming the field: it is not an integer; kUnsupported: beyond a limit above.
struct ModelConfigs {
  const Family& rules;
  const Family& defaults;
  const JsonValue& text;
  const JsonValue* vision = nullptr;
};
Result<std::vector<Parameter>> expected_parameters(const ModelConfigs& configs,
                                                   const ModelForm& form);

// The number that tokenizer.json's list of added tokens gives to the text that
// tokenizer_config.json has under `key` ("eos_token"); nullopt where one of them says nothing.
std::optional<uint64_t> added_token_id(const JsonValue& tokenizer_config,
                                       const JsonValue& tokenizer, std::string_view key);

// Whether the class takes the embedding for its head where config.json does not say.
bool ties_head_by_default(const Family& table);

// A number made of fields, as in a shape: "kv_lora_rank+qk_rope_head_dim". Fails: kCorrupt: a field
// that neither config.json nor its class has, or no whole number; kUnsupported beyond 64 bits.
Result<uint64_t> number_of_fields(const Family& table, const JsonValue& config,
                                  std::string_view text);

// Names that classes have for the number of routed experts of a layer, with a space between two.
inline constexpr std::string_view kExpertCounts =
    "num_local_experts num_experts n_routed_experts moe_num_experts";

// ---- keys of GGUF ----------------------------------------------------------------------------

// A key that llama.cpp reads, or only converters write: the letter of its kind (gguf_keys.cc), and
// the type of a single value.
struct GgufKey {
  char kind;
  MetaType type;
  bool is_read = true;  // another type is an error in llama.cpp
};
// nullopt: no program has it. `architecture` as in general.architecture.
std::optional<GgufKey> find_gguf_key(std::string_view architecture, std::string_view key);
// The key that was probably meant where find_gguf_key knows none. Certain: `key` lacks only the
// architecture's name in front.
struct MeantKey {
  std::string key;
  bool is_certain;
};
std::optional<MeantKey> meant_gguf_key(std::string_view architecture, std::string_view key);
// "name:kind" of those without an architecture's name in front, between spaces.
std::string_view gguf_keys_of_file();

// ---- fields that transformers 5 saves under names, or in a form, that 4.57 does not read --------
//
// Sources: transformers 4.57.6 and 5.17.0 src/transformers/models/{qwen3_moe,qwen3_vl_moe,gemma3,
// gemma3n,olmo3}/configuration_*.py (attribute_map, convert_rope_params_to_dict).

// model_types, between spaces, whose class of 4.57 reads num_experts and has no second name for it;
// 5 saves num_local_experts.
inline constexpr std::string_view kReadNumExperts =
    " qwen2_moe qwen3_moe qwen3_next qwen3_vl_moe_text qwen3_omni_moe_text ";

// model_types whose rope_parameters 5 saves by type of layer. 4.57 reads rope_theta and
// rope_scaling of full attention, and the base of sliding attention from `local_base`; where that
// is empty both kinds have one base.
struct RopeByLayerType {
  std::string_view model_type, local_base;
};
inline constexpr RopeByLayerType kRopeByLayerType[] = {
    {"gemma3_text", "rope_local_base_freq"},
    {"gemma3n_text", "rope_local_base_freq"},
    {"olmo3", ""},
};

// Fields of released configurations that classes of SGLang and vLLM ask for and transformers 5 does
// not save. model_types between spaces.
struct UnsavedField {
  std::string_view name;
  std::string_view value;  // JSON: what transformers' class does
  std::string_view model_types;
  bool is_optional_in_vllm = false;  // its classes do the same without it
};
inline constexpr UnsavedField kUnsavedFields[] = {
    {"moe_layer_freq", "1", " deepseek_v2 deepseek_v3 glm_moe_dsa ", true},
    {"topk_method", "\"noaux_tc\"", " deepseek_v3 glm_moe_dsa "},
};

// Models whose first dense layers servers count by first_k_dense_replace, and transformers 5 lists
// in mlp_layer_types.
struct DenseLayersByCount {
  std::string_view model_type;
  uint64_t listed_by_class;                  // dense layers where config.json lists none
  std::optional<uint64_t> counted_by_class;  // first_k_dense_replace where it is absent
};
inline constexpr DenseLayersByCount kDenseLayersByCount[] = {
    {"glm_moe_dsa", 3, 3},
    {"glm4_moe_lite", 1, std::nullopt},
};

}  // namespace ckpt
