// The quantizers of a training with fake quantization (NVIDIA Model-Optimizer), which are tensors
// next to the floats that they round:
//
//   P.weight                       BF16, whole
//   P.weight_quantizer._amax       largest magnitude of the weight, and
//   P.input_quantizer._amax        of what it is multiplied with
//   modelopt_state.pth             which of them there are
//
// The floats do not need them, so outputs of plain or other types leave them out.
#pragma once

#include <string_view>

#include "core/base/glob.h"
#include "core/model/transform.h"

namespace ckpt {

inline constexpr std::string_view kModeloptStateName = "modelopt_state.pth";

bool is_quantizer(std::string_view name);
// Fails: kUnsupported for a quantizer that changes what the weight means (AWQ, SVDQuant, LSQ).
Status refuse_other_quantizers(const Tensor& tensor);
// Takes quantizers, but those that `keep` matches, and their state out of `checkpoint`; notes it.
// Fails: as refuse_other_quantizers().
Status drop_quantizers(Checkpoint& checkpoint, const GlobList& keep, const Context& context);

}  // namespace ckpt
