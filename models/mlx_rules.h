// Names, axes and values that MLX changes in the models that it saves.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// A row of data/mlx.txt: a tensor that MLX saves otherwise than the model's release has it.
struct MlxRule {
  std::string_view change, from, to, second, model_types;
};
struct MlxTensors {
  std::vector<std::pair<size_t, const MlxRule*>> changed;  // by number of the tensor
  std::vector<const MlxRule*> prefixes;
  bool is_quantized = false;
  bool has_float_scales = false, has_biases = false, has_global_scales = false;
  std::string unknown_type;  // model_type of a class whose changes are not known; else empty
  bool empty() const { return changed.empty() && !is_quantized; }
  // Whether the step dequantize knows the mode: affine has float scales with biases, and of the
  // modes without biases nvfp4 with global scales is not decoded.
  bool is_decoded() const { return !has_global_scales && (!has_float_scales || has_biases); }
};
// Reads names, types and shapes. None for a checkpoint that is not of safetensors.
MlxTensors find_mlx_tensors(const Checkpoint& checkpoint);

// The way out of folders that MLX quantized.
inline constexpr std::string_view kMlxDequantize =
    "mlx_lm.convert --hf-path IN --mlx-path OUT --dequantize, and then OUT";

}  // namespace ckpt
