// The linear layers of a ModelOpt checkpoint with what each is stored as, checked against what its
// documents say.
//
// Tensors win over documents. A layer is what its weight is stored as; a label NVFP4_AWQ without a
// pre_quant_scale is an NVFP4 layer whose scale was folded before.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/model/transform.h"
#include "transforms/facts/norm_readers.h"
#include "transforms/facts/quant_config.h"

namespace ckpt {

enum class LayerKind : uint8_t { kPlain, kFp8, kNvfp4 };

struct MixedLayer {
  std::string module;
  LayerKind kind = LayerKind::kPlain;
  size_t weight = 0;  // into Checkpoint::tensors, as the others; -1: there is none
  int64_t bias = -1, input_scale = -1, pre_quant_scale = -1;

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

// One part of a tensor, as a tensor of its own: "X_scale" of "X".
Tensor part_as_tensor(const Tensor& tensor, size_t part, Codecs codecs);
// The values of a small tensor that must all be finite and above zero. Fails: kCorrupt, kIo.
Result<std::vector<float>> read_scales(const Tensor& tensor, uint64_t limit_values);

}  // namespace ckpt
