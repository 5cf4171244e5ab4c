// The parsed configuration of a model that becomes a GGUF.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/facts/torch_dtype.h"
#include "transforms/to_gguf/names.h"

namespace ckpt {

// Types that an option may request.
inline constexpr int kSourceType = -1;  // the type of the source
inline constexpr Choice kOutTypeNames[] = {{"auto", kSourceType},
                                           {"f32", OutType::kF32},
                                           {"f16", OutType::kF16},
                                           {"bf16", OutType::kBF16},
                                           {"q8_0", OutType::kQ8_0}};

// A matrix by which llama.cpp multiplies an embedding after pooling.
struct DenseModule {
  std::string name;  // "dense_2"
  uint64_t inputs, outputs;
};

// The parsed configuration.
struct Model {
  const Family* family = nullptr;
  std::string architecture;  // as in config.json
  JsonValue root;            // config.json unchanged; an object
  JsonValue config;          // root with text_config merged over it, defaults added
  JsonValue rope;            // rope_parameters or rope_scaling, completed from the root
  std::optional<RopeConflict> rope_conflict;  // between both; rope_scaling is used
  uint64_t layers = 0;       // num_hidden_layers
  uint64_t mtp_layers = 0;   // after the others, kept in the file
  bool keeps_mtp = true;     // false: those layers are dropped
  uint64_t left_out = 0;     // tensors of such layers that llama.cpp's converter ignores
  OutType out_type = OutType::kF32;
  std::vector<uint64_t> answers = {};    // for a reranker: the tokens "yes" and "no"
  bool is_nvfp4 = false;                 // some weights are NVFP4 and stay so
  bool is_mxfp4 = false;                 // experts are MXFP4 and stay so
  bool keeps_codes = false;              // packed INT4 becomes Q4_0 by moving its bits
  std::vector<DenseModule> dense = {};
  std::vector<std::string> towers = {};  // omitted tensors of vision and other towers

  uint64_t blocks() const { return layers + mtp_layers; }
  // The first present field among `fields` (separated by spaces); nullptr if its value is null.
  const JsonValue* field(std::string_view fields) const;
  // Returns that field as an integer. Fails: kCorrupt if it is absent or not an integer.
  Result<uint64_t> count(std::string_view fields) const;
  // Rows of position embeddings before the first that is used: those up to pad_token_id.
  Result<uint64_t> dropped_positions() const;
  // head_dim, or hidden_size / num_attention_heads.
  Result<uint64_t> head_values() const;
};

// The class in config.json.
struct NamedClass {
  const Family* family;  // nullptr: not in a table
  std::string architecture, model_type;
  std::string words() const;  // "architecture 'X'", for messages
};
NamedClass find_class(const JsonValue& root);
// Merges the fields of the text part over those at the root of config.json.
JsonValue merged_config(const JsonValue& root);

// A hint for unknown classes: llama.cpp's converter supports more classes, and ckpt needs no table
// for quantizing a GGUF.
inline constexpr std::string_view kTwoSteps =
    "llama.cpp's convert_hf_to_gguf.py, whose GGUF this program reads";

// Fails: kUsage without config.json; kUnsupported for an unknown architecture, naming the known
// ones; kCorrupt.
Result<Model> read_model(const Checkpoint& checkpoint);

// The layers of the model. Fails: kCorrupt: layer_types is not a list of num_hidden_layers words,
// or a family with Mamba layers lacks the field that lists them; kUnsupported: that field lists
// none.
Result<std::vector<ResolvedLayer>> hybrid_layers(const Model& model);
// The target of a row in the layer of `match`, which decides for kByMixer. Fails: as
// hybrid_layers().
Result<std::string_view> target_of(const Match& match, const Model& model);
// For each layer, whether it is of `type` according to layer_types, or else to the class. Fails:
// kCorrupt, as hybrid_layers().
Result<std::vector<bool>> layers_of_type(const Model& model, std::string_view type);

// llama.cpp include/llama.h `enum llama_ftype`; NVFP4 weights take precedence.
uint64_t file_type(const Model& model);
uint64_t file_type(OutType type);  // for a file of floats

Dtype dtype_of(OutType type);

}  // namespace ckpt
