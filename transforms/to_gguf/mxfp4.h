// Experts in MXFP4 that keep their type.
#pragma once

#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// Joins X_blocks U8 [n, rows, K/32, 16] and X_scales U8 [n, rows, K/32] into X [n, rows, K], stored
// as MXFP4; other tensors stay.
std::vector<Tensor> join_mxfp4(std::vector<Tensor> tensors, Codecs codecs);

bool is_mxfp4(const Tensor& tensor);

}  // namespace ckpt
