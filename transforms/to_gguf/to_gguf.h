// The steps of to-gguf: from a Hugging Face checkpoint to what llama.cpp's converter writes.
//
//   config.json ─▶ Model ─┬─▶ tensors   names, order, value changes, types    to_gguf_tensors.cc
//                         ├─▶ general.* from names, model card, totals        gguf_general.h
//                         ├─▶ <arch>.*  hyper-parameters                      to_gguf_keys.cc
//                         └─▶ tokenizer.ggml.*                                gguf_tokenizer.h
//
// Rules and their sources: docs/formats/hf_to_gguf.md. Order is part of the result, of tensors and
// keys alike; tensors of a file go by name, not as they lie there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/transform.h"
#include "transforms/to_gguf/families/families.h"

namespace ckpt {

enum class OutType : uint8_t { kF32, kF16, kBF16, kQ8_0 };

// What config.json says, ready to be asked.
struct Model {
  const Family* family = nullptr;
  std::string architecture;  // as in config.json
  JsonValue root;            // config.json as it is; an object
  JsonValue config;          // text_config merged over the root, defaults filled in
  JsonValue rope;            // rope_parameters or rope_scaling, completed from the root
  uint64_t layers = 0;       // num_hidden_layers
  uint64_t mtp_layers = 0;   // behind them, kept in the file
  bool keeps_mtp = true;     // false: those layers are dropped
  uint64_t left_out = 0;     // tensors of such layers that llama.cpp's converter has no use for
  OutType out_type = OutType::kF32;
  bool is_nvfp4 = false;                 // some weights are, and stay so
  bool is_mxfp4 = false;                 // experts are, and stay so
  std::vector<std::string> towers = {};  // tensors of vision and other towers, left out

  uint64_t blocks() const { return layers + mtp_layers; }
  // The first of `fields` (separated by spaces) that is present; nullptr when that one is null.
  const JsonValue* field(std::string_view fields) const;
  // The same as a whole number. Fails: kCorrupt when it is absent or none.
  Result<uint64_t> count(std::string_view fields) const;
  // head_dim, or hidden_size / num_attention_heads.
  Result<uint64_t> head_values() const;
};

// Fails: kUsage without config.json; kUnsupported for an architecture that is not known, naming
// those that are; kCorrupt.
Result<Model> read_model(const Checkpoint& checkpoint);

// What a layer has in the place of attention.
enum class LayerMixer : uint8_t { kAttention, kConvolution, kMamba, kNone };
// One a layer, by layer_types. Fails: kCorrupt when they are no list of num_hidden_layers words.
Result<std::vector<LayerMixer>> layer_mixers(const Model& model);

// A tensor under the name by which rules know it.
struct NamedTensor {
  std::string name;  // without "language_model.", multi-token prediction as layers
  Tensor tensor;
  std::optional<float> input_scale = {};  // of an NVFP4 weight that has one
};

// Tensors in the order in which they are converted, without vision and other towers, whose
// names go to model.towers; counts the layers for multi-token prediction into model.mtp_layers
// unless they are to be dropped.
// Fails: kUnsupported for types that cannot be decoded, naming the quantization found.
Result<std::vector<NamedTensor>> select_tensors(const Checkpoint& checkpoint, bool keep_mtp,
                                                Model& model, Codecs codecs);

// Fails: kCorrupt, naming the first and counting them: tensors whose shapes contradict config.json.
Status check_shapes(const std::vector<NamedTensor>& tensors, const Model& model);

// The type of the first tensor of rank >= 2 that is BF16 or F16; F32 when there is none.
OutType guess_out_type(const std::vector<NamedTensor>& tensors);

// Fails: kUnsupported, naming them, for tensors no rule knows; kCorrupt for shapes that contradict
// config.json, experts that are missing, names that come twice.
Result<std::vector<Tensor>> make_gguf_tensors(std::vector<NamedTensor> tensors, const Model& model,
                                              Codecs codecs);

// One tensor's values and shape as its rule says; names and types are the caller's.
Result<std::vector<Tensor>> change_values(Tensor tensor, Change change, const Model& model,
                                          Codecs codecs);
// The changes that turn matrices around; others are change_values' own. `f32` is the codec of
// values that had to be decoded for it.
Result<std::vector<Tensor>> change_grid(const Tensor& given, Change change, const Model& model,
                                        const Codec& f32);

// Tensors X_blocks U8 [n, rows, K/32, 16] and X_scales U8 [n, rows, K/32] as X [n, rows, K], stored
// as MXFP4; others as they are.
std::vector<Tensor> join_mxfp4(std::vector<Tensor> tensors, Codecs codecs);
bool is_mxfp4(const Tensor& tensor);

// Tensors X_packed, X_scale and X_shape of INT4 in groups as X, which can be decoded; others as
// they are. Fails: kIo.
Result<std::vector<Tensor>> join_packed_int4(std::vector<Tensor> tensors, Codecs codecs);
bool is_packed_int4(const Tensor& tensor);

// The keys "<architecture>.*" and general.file_type, appended.
Status add_model_keys(const Checkpoint& checkpoint, const Model& model, Metadata& metadata);

// The keys that stand before all others of the model.
Status add_early_keys(const Checkpoint& checkpoint, const Model& model, Metadata& metadata);

// The value of a key that follows from several fields: the sources from kSlidingPattern on.
Result<std::optional<MetaValue>> attention_key(const KeyRule& rule, const Model& model);

// Divisors of the rotary frequencies, as the tensors that hold them; none for most models.
struct RopeFactors {
  std::string name;
  std::vector<float> values;  // one for two values of a head
};
Result<std::vector<RopeFactors>> rope_factors(const Model& model);
// The divisors of has_proportional_rope; empty for other families.
Result<std::vector<float>> proportional_factors(const Model& model);
// By how much attention grows with those factors; nullopt for models without long_factor.
Result<std::optional<double>> long_rope_attention(const Model& model);
// How many values of a head are rotated: a share of hidden_size, split among the heads.
Result<uint64_t> partial_rotary_values(const Model& model);

// llama.cpp include/llama.h `enum llama_ftype`; NVFP4 weights count more than what is beside them.
uint64_t file_type(const Model& model);
std::string_view codec_name(OutType type);

}  // namespace ckpt
