// The linear layers of a ModelOpt checkpoint and the format of each, compared with its documents.
//
// Tensors take precedence over documents: the stored weight decides the kind of a layer. If a layer
// is labeled NVFP4_AWQ but has no pre_quant_scale, it is NVFP4 with an already folded scale.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint.h"
#include "core/model/transform.h"
#include "transforms/facts/quant_config.h"

namespace ckpt {

// The layers that read the output of a norm, and the form of the norm.
//
//   plain norm     y = x̂ w            with a folded scale s:   w' = w s
//   1 + w norm     y = x̂ (1 + w)                           w' = (1 + w) s - 1
//
// Qwen3.5, Qwen3-Next and Gemma store norms of the second form; only the model's type reveals it.
// linear_attn.norm of these models has the plain form.
// Source: huggingface/transformers src/transformers/models/{qwen3_5,qwen3_next,gemma3}/
// modeling_*.py (the classes *RMSNorm and *RMSNormGated).

// Finds tensors by name; the checkpoint's list must not change in the meantime.
class TensorIndex {
 public:
  explicit TensorIndex(const std::vector<Tensor>& tensors);
  // The position in the list.
  std::optional<size_t> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  // The sorted names that begin with `prefix`.
  std::vector<std::string> starting_with(std::string_view prefix) const;

 private:
  std::map<std::string, size_t, std::less<>> positions_;
};

// Models with known decoder layers: a norm, attention, a norm, gate, up and down. Scales are moved
// only in such models. `model_type` is the language model's.
bool has_known_layers(std::string_view model_type);
// Whether their norms multiply by 1 + w.
bool adds_one_to_norms(std::string_view model_type);

// A norm, and the modules that read its output.
struct NormReaders {
  std::string norm;  // "model.layers.0.input_layernorm", without ".weight"
  std::vector<std::string> readers;
};
// All norms before linear layers, sorted by name; empty for unknown models.
std::vector<NormReaders> find_norm_readers(const TensorIndex& index, std::string_view model_type);

enum class LayerKind : uint8_t { kPlain, kFp8, kNvfp4 };

struct MixedLayer {
  std::string module;
  LayerKind kind = LayerKind::kPlain;
  size_t weight = 0;  // this and the next: indices into Checkpoint::tensors
  std::optional<size_t> input_scale = {}, pre_quant_scale = {};

  bool is_quantized() const { return kind != LayerKind::kPlain; }
  std::string_view was() const;  // "FP8", "NVFP4_AWQ", ...
};

struct MixedModel {
  std::string model_type;  // of the language model
  uint64_t heads = 0, kv_heads = 0;
  bool has_tied_head = false;
  QuantConfig config;
  std::vector<MixedLayer> layers;  // in the order of the tensors
  std::map<std::string, size_t, std::less<>> by_module;

  const MixedLayer* find(std::string_view module) const;
};

// Fails: kUnsupported: no ModelOpt configuration, an algorithm that cannot become NVFP4, stacks of
// quantized experts, or weights that an earlier step encodes; kCorrupt: scales are missing or have
// another shape, or a layer of quantized_layers is not quantized.
Result<MixedModel> read_mixed_model(const Checkpoint& checkpoint);

// Whether AWQ may have scaled columns, and an exporter may have folded the scales into norms.
bool may_have_awq(const MixedModel& model);

// The values of a small tensor, all finite and above zero. Fails: kCorrupt, kIo.
Result<std::vector<float>> read_scales(const Tensor& tensor, uint64_t limit_values);

}  // namespace ckpt
