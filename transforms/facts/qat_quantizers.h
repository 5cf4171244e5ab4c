// The quantizers of a training with fake quantization (NVIDIA Model-Optimizer), which are tensors
// next to the floats that they round:
//
//   P.weight                       BF16, not rounded
//   P.weight_quantizer._amax       largest magnitude of the weight
//   P.input_quantizer._amax        largest magnitude of its input
//   modelopt_state.pth             lists these quantizers
//
// The floats do not need quantizers, so outputs of float or other types omit them.
#pragma once

#include <string_view>

#include "core/base/glob.h"
#include "core/model/transform.h"

namespace ckpt {

inline constexpr std::string_view kModeloptStateName = "modelopt_state.pth";

bool is_quantizer(std::string_view name);
// Fails: kUnsupported if a quantizer changes the meaning of the weight (AWQ, SVDQuant, LSQ).
Status refuse_other_quantizers(const Tensor& tensor);
// Removes quantizers and their state from `checkpoint`, except those that `keep` matches, and adds
// a note. Fails: as refuse_other_quantizers().
Status drop_quantizers(Checkpoint& checkpoint, const GlobList& keep, const Context& context);

}  // namespace ckpt
