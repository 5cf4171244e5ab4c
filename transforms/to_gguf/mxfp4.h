// Experts that are stored as MXFP4 and stay so.
#pragma once

#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// Tensors X_blocks U8 [n, rows, K/32, 16] and X_scales U8 [n, rows, K/32] as X [n, rows, K], stored
// as MXFP4; others as they are.
std::vector<Tensor> join_mxfp4(std::vector<Tensor> tensors, Codecs codecs);

bool is_mxfp4(const Tensor& tensor);

}  // namespace ckpt
