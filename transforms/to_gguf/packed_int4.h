// INT4 weights as compressed-tensors packs them.
#pragma once

#include <vector>

#include "core/model/checkpoint.h"
#include "core/model/codec.h"

namespace ckpt {

// Tensors X_packed, X_scale and X_shape of INT4 in groups as X, which can be decoded; others as
// they are. Fails: kIo.
Result<std::vector<Tensor>> join_packed_int4(std::vector<Tensor> tensors, Codecs codecs);

}  // namespace ckpt
