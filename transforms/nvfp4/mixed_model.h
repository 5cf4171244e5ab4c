// The linear layers of a ModelOpt checkpoint with what each is stored as, checked against what its
// documents say.
//
// Tensors win over documents. A layer is what its weight is stored as; a label NVFP4_AWQ without a
// pre_quant_scale is an NVFP4 layer whose scale was folded before.
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

// Which layers read the output of a norm, and how a norm multiplies.
//
//   plain norm     y = x̂ w            scale s folded in:   w' = w s
//   1 + w norm     y = x̂ (1 + w)                           w' = (1 + w) s - 1
//
// Qwen3.5, Qwen3-Next and Gemma store norms of the second kind; nothing in the file says so but the
// model's type. linear_attn.norm of those models is a plain one.
// Source: huggingface/transformers src/transformers/models/{qwen3_5,qwen3_next,gemma3}/
// modeling_*.py (the classes *RMSNorm and *RMSNormGated).

// Finds tensors by name; the checkpoint's list must not change meanwhile.
class TensorIndex {
 public:
  explicit TensorIndex(const std::vector<Tensor>& tensors);
  // Position in the list.
  std::optional<size_t> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  // Names that begin with `prefix`, sorted.
  std::vector<std::string> starting_with(std::string_view prefix) const;

 private:
  std::map<std::string, size_t, std::less<>> positions_;
};

// Models whose decoder layers are known: a norm, attention, a norm, gate and up and down; only in
// them scales are moved from one tensor to another. `model_type` is the language model's.
bool has_known_layers(std::string_view model_type);
// Whether their norms multiply by 1 + w.
bool adds_one_to_norms(std::string_view model_type);

// A norm, and the modules that read what it gives.
struct NormReaders {
  std::string norm;  // "model.layers.0.input_layernorm", without ".weight"
  std::vector<std::string> readers;
};
// All norms in front of linear layers, in the order of their names; empty for unknown models.
std::vector<NormReaders> find_norm_readers(const TensorIndex& index, std::string_view model_type);

enum class LayerKind : uint8_t { kPlain, kFp8, kNvfp4 };

struct MixedLayer {
  std::string module;
  LayerKind kind = LayerKind::kPlain;
  size_t weight = 0;  // into Checkpoint::tensors, as the others
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

// Fails: kUnsupported: no ModelOpt configuration, an algorithm that has no way to NVFP4, stacks of
// quantized experts, weights that a step before encodes; kCorrupt: weights whose scales are missing
// or of another shape, a layer of quantized_layers without quantized tensors.
Result<MixedModel> read_mixed_model(const Checkpoint& checkpoint);

// Whether AWQ may have scaled columns of it, and an exporter have folded the scales into norms.
bool may_have_awq(const MixedModel& model);

// The values of a small tensor that must all be finite and above zero. Fails: kCorrupt, kIo.
Result<std::vector<float>> read_scales(const Tensor& tensor, uint64_t limit_values);

}  // namespace ckpt
