// The configuration of a model that becomes a GGUF, parsed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/facts/torch_dtype.h"

namespace ckpt {

// Types that an option may ask for.
inline constexpr int kSourceType = -1;  // that of the source
inline constexpr Choice kOutTypeNames[] = {{"auto", kSourceType},
                                           {"f32", OutType::kF32},
                                           {"f16", OutType::kF16},
                                           {"bf16", OutType::kBF16},
                                           {"q8_0", OutType::kQ8_0}};

// A matrix that an embedding is multiplied by behind pooling.
struct DenseModule {
  std::string name;  // "dense_2"
  uint64_t inputs, outputs;
};

// The configuration, parsed.
struct Model {
  const Family* family = nullptr;
  std::string architecture;  // as in config.json
  JsonValue root;            // config.json as it is; an object
  JsonValue config;          // text_config merged over the root, defaults filled in
  JsonValue rope;            // rope_parameters or rope_scaling, completed from the root
  std::optional<RopeConflict> rope_conflict;  // of the two; rope_scaling is taken
  uint64_t layers = 0;       // num_hidden_layers
  uint64_t mtp_layers = 0;   // behind them, kept in the file
  bool keeps_mtp = true;     // false: those layers are dropped
  uint64_t left_out = 0;     // tensors of such layers that llama.cpp's converter has no use for
  OutType out_type = OutType::kF32;
  std::vector<uint64_t> answers = {};    // of a reranker: the tokens "yes" and "no"
  bool is_nvfp4 = false;                 // some weights are, and stay so
  bool is_mxfp4 = false;                 // experts are, and stay so
  bool keeps_codes = false;              // packed INT4 becomes Q4_0 by moving its bits
  std::vector<DenseModule> dense = {};
  std::vector<std::string> towers = {};  // tensors of vision and other towers, left out

  uint64_t blocks() const { return layers + mtp_layers; }
  // The first of `fields` (separated by spaces) that is present; nullptr when that one is null.
  const JsonValue* field(std::string_view fields) const;
  // The same as a whole number. Fails: kCorrupt when it is absent or none.
  Result<uint64_t> count(std::string_view fields) const;
  // Rows of position embeddings in front of the first that counts: those up to pad_token_id.
  Result<uint64_t> dropped_positions() const;
  // head_dim, or hidden_size / num_attention_heads.
  Result<uint64_t> head_values() const;
};

// The class that config.json names.
struct NamedClass {
  const Family* family;  // nullptr: no table has it
  std::string architecture, model_type;
  std::string words() const;  // "architecture 'X'", for messages
};
NamedClass find_class(const JsonValue& root);
// Merges the fields of the text part over those at the root of config.json.
JsonValue merged_config(const JsonValue& root);

// A hint for unknown classes: llama.cpp's converter knows more of them, and ckpt quantizes a GGUF
// without a table.
inline constexpr std::string_view kTwoSteps =
    "llama.cpp's convert_hf_to_gguf.py, whose GGUF this program reads";

// Fails: kUsage without config.json; kUnsupported for an architecture that is not known, naming
// those that are; kCorrupt.
Result<Model> read_model(const Checkpoint& checkpoint);

// The layers of the model. Fails: kCorrupt: layer_types is not a list of num_hidden_layers words,
// or a family with Mamba layers has no field that names them; kUnsupported: that field names none.
Result<std::vector<ResolvedLayer>> hybrid_layers(const Model& model);
// For each layer, whether it is of `type` by layer_types, or else by the class. Fails: kCorrupt, as
// hybrid_layers().
Result<std::vector<bool>> layers_of_type(const Model& model, std::string_view type);

// llama.cpp include/llama.h `enum llama_ftype`; NVFP4 weights count more than the others.
uint64_t file_type(const Model& model);
uint64_t file_type(OutType type);  // of a file of floats

Dtype dtype_of(OutType type);

}  // namespace ckpt
