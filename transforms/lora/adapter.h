// A LoRA adapter as files hold it: its tensors by module, each with what it is for, and its
// configuration. Of a folder only adapter_config.json and the weights are read; a GGUF has all in
// one file (adapter_gguf.cc).
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/counted.h"
#include "core/base/find.h"
#include "core/base/regex.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"

namespace ckpt {

// Names of tensors in an adapter, as trainers write them, and the modules of a model they mean
// (adapter_key.cc).
//
//   base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight   PEFT
//   base_model.model.model.layers.0.self_attn.q_proj.lora_A.default.weight   raw state dicts
//   model.layers.0.self_attn.q_proj.lora_a                           MLX
//
// Names that wrappers add (_fsdp_wrapped_module, _orig_mod, ...) are left out.
enum class AdapterPart : uint8_t {
  kA,           // [r, in]
  kB,           // [out, r]
  kBBias,       // added to the bias, scaled
  kTurnedA,     // MLX: [in, r]
  kTurnedB,     // MLX: [r, out]
  kEmbeddingA,  // [r, vocabulary]
  kEmbeddingB,  // [dim, r]
  kMagnitude,   // DoRA
  kTokens,      // rows that replace rows
  kNewWeight,   // replaces the weight
  kNewBias,     // replaces the bias
  kNewTensor,   // replaces a tensor without such an ending, whose entire name is the module's
  kBaseCopy,    // copy of the base's weight, which may have rows for new tokens
  kBaseBias,    // copy of the base's bias
  kFactor,      // of another method than LoRA (methods.h)
};

struct AdapterKey {
  std::string module;  // "model.layers.0.self_attn.q_proj"
  AdapterPart part;
  std::string adapter = {};      // the name it was given in the model: "default"; empty: none
  std::string_view factor = {};  // of kFactor: one of `factors`
};
// Reads the name of a tensor of an adapter. A name without a known end is that of a tensor that
// replaces the model's. `factors`: the ends that the adapter's method has, if it is not LoRA.
// nullopt: no adapter has a tensor of this name.
std::optional<AdapterKey> parse_adapter_key(std::string_view name, std::string_view factors = "");

// Names under which a model may have the module, likeliest first, some twice: text classes and the
// vision-language classes around them name the same layers differently.
std::vector<std::string> model_names(const std::string& module);

// A method of PEFT other than LoRA: the names of its tensors, and the function that merges them
// (methods.h), `rows` or `product`.
struct MethodModule;
struct RowChange;
struct LowRankUpdate;
struct AdapterMethod {
  std::string_view type;     // peft_type
  std::string_view name;     // as PEFT's documentation has it
  std::string_view factors;  // names of its tensors
  std::string_view keys;     // of adapter_config.json, that are its own
  bool has_alpha = false;    // alpha, rank_pattern and alpha_pattern, as LoRA's
  bool has_scale = false;    // what it adds can be multiplied
  bool has_conv1d = false;   // for the Conv1D of GPT-2
  Result<RowChange> (*rows)(const MethodModule&) = nullptr;
  Result<RowChange> (*bias)(const MethodModule&) = nullptr;  // of the module's bias [1, columns]
  // The product to add to a weight [outputs, inputs].
  Result<LowRankUpdate> (*product)(const MethodModule&) = nullptr;
};
// The method that PEFT calls `type`. Fails: kUnsupported: ckpt does not merge it; the hint says
// who does.
Result<const AdapterMethod*> find_method(const std::string& type);

// The hint for an adapter that PEFT merges and ckpt does not.
inline constexpr const char* kMergeElsewhere =
    "merging it with PEFT's merge_and_unload(), then converting the folder that it saves";

// adapter_config.json, or the keys of a GGUF: rank and scale of each module, and what else changes
// the result.
struct AdapterConfig {
  using Patterns = std::vector<std::pair<Regex, double>>;
  using Version = std::array<uint64_t, 3>;

  const AdapterMethod* method = nullptr;               // nullptr: LoRA
  std::map<std::string, double, std::less<>> options;  // of another method; true is 1
  std::string start;                                   // init_weights of it, if it is a text
  double rank = 0, alpha = 0;
  Patterns ranks, alphas;
  std::map<std::string, double, std::less<>> own_ranks;  // of a GGUF: by module
  bool has_rank_scale = false;                           // use_rslora
  bool has_magnitudes = false;                           // use_dora
  bool has_biases = false;                               // lora_bias
  bool keeps_tie = false;                                // ensure_weight_tying
  std::optional<double> own_scale;                       // of MLX, and of other methods: no alpha
  std::vector<uint64_t> layers;                          // layers_to_transform; empty: all
  // Rows that trainable_token_indices names, by the last words of their module; "": the embeddings.
  std::vector<std::pair<std::string, std::vector<uint64_t>>> token_rows;
  std::vector<std::string> parameters;   // target_parameters
  std::vector<std::string> saved;        // modules_to_save
  std::vector<std::string> targets;      // target_modules, where it is a list
  std::optional<Regex> target_names;     // else: of entire names, where it can be read
  std::vector<std::string> excluded;     // exclude_modules, where it is a list
  std::optional<Regex> excluded_names;   // else: of entire names
  std::vector<std::string> feedforward;  // feedforward_modules of IA3, the same way
  std::optional<Regex> feedforward_names;
  std::optional<Version> peft_version;
  std::string b_layout;              // lora_B_layout, as unsloth writes it; empty: absent
  std::string base;                  // base_model_name_or_path
  std::string task;                  // task_type: "SEQ_CLS"
  std::vector<std::string> unknown;  // keys that are set and not known

  // Whether target_parameters names the parameter "model.layers.0.mlp.experts.down_proj".
  bool is_parameter(std::string_view name) const;
  // Whether it names the weight of the module. PEFT wraps such a parameter as it does stacked
  // experts: patterns match its own name, the product is rounded before it is added, and lists of
  // modules and layers are not asked.
  bool has_parameter(std::string_view module) const;
  double rank_of(std::string_view module) const;
  double alpha_of(std::string_view module) const;
  double option(std::string_view key, double otherwise) const {
    const double* found = find_mapped(options, key);
    return found == nullptr ? otherwise : *found;
  }
  // s of a module, times `factor`.
  float scale_of(std::string_view module, double factor) const;
};

// Takes the adapter out of a model whose tensors it is among, and gives the others the names of the
// model. Fails: kUsage: there is none; kUnsupported: no adapter_config.json, several adapters.
Result<Checkpoint> take_inner_adapter(Checkpoint& model);

// A key of rank_pattern or alpha_pattern, which fits a module when it matches the entire name, or
// all of it behind a dot. Fails: kUnsupported, as Regex::parse.
Result<Regex> module_regex(std::string_view key);

// Fails: kCorrupt: no JSON, numbers that are none; kUnsupported for adapters that are not LoRA, or
// that need more than merging.
Result<AdapterConfig> read_adapter_config(const std::string& path, const std::string& text);

struct AdapterModule {
  std::string name;  // as the adapter calls it, without prefixes and wrappers
  std::map<AdapterPart, const Tensor*> parts = {};
  std::map<std::string_view, const Tensor*> factors = {};  // of another method; one is kFactor
  // In a GGUF's adapter, a product may be for some rows of one of the folder's tensors: its name
  // and the first of these rows.
  std::optional<std::pair<std::string, uint64_t>> rows = {};

  const Tensor* find(AdapterPart part) const {
    const auto* found = find_mapped(parts, part);
    return found == nullptr ? nullptr : *found;
  }
  // The first tensor of the module's update: LoRA's A, or any factor of another method.
  const Tensor* first_factor() const {
    for (const AdapterPart part : {AdapterPart::kA, AdapterPart::kEmbeddingA}) {
      if (const Tensor* found = find(part)) return found;
    }
    return find(AdapterPart::kFactor);
  }
  const std::string& first_tensor() const { return parts.begin()->second->name; }
  // Whether `words` are its name, or the end of it behind a dot.
  bool is_called(std::string_view words) const {
    return name == words || name.ends_with(fmt::format(".{}", words));
  }
  // Whether the rows that AdapterConfig::token_rows has under `words` are rows of this module.
  bool owns_rows(std::string_view words) const {
    return words.empty() ? is_of_embeddings(name) : is_called(words);
  }
};

// Whether `module` is a module that PEFT calls `words`, or inside one: whole words, at any depth.
bool is_within(std::string_view module, std::string_view words);

struct Adapter {
  std::string path;          // of the weights, for messages
  std::string architecture;  // of a GGUF, whose modules have its names; empty: a folder
  AdapterConfig config;
  std::vector<Tensor> tensors;
  std::vector<AdapterModule> modules;  // by name; point into `tensors`
  AdapterModule shared;                // tensors that all modules use
  NameCount pruned;                    // modules from which AdaLoRA took all ranks

  Adapter() = default;
  Adapter(Adapter&&) = default;
  Adapter& operator=(Adapter&&) = default;
};

// `place`: a folder, or a GGUF. Fails: kUsage: no adapter there; kCorrupt, naming the tensor: an
// unknown name, two for the same place, no values, NaN or Inf; as read_adapter_config and
// read_gguf_adapter.
Result<Adapter> read_adapter(const std::string& place, const Context& context);
// Reads an adapter like read_adapter(), from a checkpoint that is an adapter's folder.
Result<Adapter> adapter_of(const Checkpoint& checkpoint);
// Reads an adapter from a GGUF (adapter_gguf.cc). Its modules have names of GGUF: "blk.0.attn_q".
// Fails: kUsage: not an adapter; kUnsupported: another kind of adapter, or an unknown key;
// kCorrupt, naming the tensor.
Result<Adapter> read_gguf_adapter(Checkpoint file, const std::string& path, const Context& context);
// `adapter`, of a GGUF, with the names of `folder` and its order of rows. Fails: kUsage: of another
// architecture; kUnsupported: a tensor that to-gguf makes by more than moving rows of one weight.
Result<Adapter> adapter_for_folder(const Adapter& adapter, const Checkpoint& folder,
                                   const Context& context);

// Each part of a module is there with those that it needs, as the configuration says (use_dora,
// lora_bias, layers_to_transform, exclude_modules). Fails: kCorrupt.
Status check_module(const Adapter& adapter, const AdapterModule& module);
// `rank` of the factor is that of the configuration. Fails: kCorrupt.
Status check_rank(const AdapterConfig& config, const AdapterModule& module, const Tensor& factor,
                  uint64_t rank);

// Fails if an adapter cannot be added to the weights of this base, or if an option of the step has
// no effect on it.
Status check_base_of_lora(const Checkpoint& checkpoint, const OptionValues& options);
// Fails if this adapter does not fit the base, or if an option has no effect on it.
Status check_adapter_for_base(const Adapter& adapter, const Checkpoint& base,
                              const OptionValues& options);

// Rows and modules that the configuration lists as trained are in the adapter, where `model` has
// the module. Fails: kCorrupt.
Status check_trained_parts(const Adapter& adapter, const Checkpoint& model);

// Notes modules of `model` that target_modules lists and no tensor is for, which PEFT warns about,
// and modules that it does not list, which PEFT leaves out.
void note_targets(const Adapter& adapter, const Checkpoint& model, const Context& context);

// Notes keys of adapter_config.json that are set and not known.
void note_unknown(const Adapter& adapter, const Context& context);

// A tensor of the adapter that is not of the shape of the model's.
Failure other_shape(const Tensor& ours, const Tensor& theirs);

// [columns, rows] of a matrix.
Result<Tensor> transposed_factor(const Tensor& tensor);

// Makes `modules` of `tensors`. Fails: kCorrupt, kUnsupported, as read_adapter.
using ParseKey = std::function<Result<AdapterKey>(const std::string& tensor)>;
Status group_by_module(Adapter& adapter, const ParseKey& parse);

}  // namespace ckpt
