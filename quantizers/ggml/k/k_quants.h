// Encodes and decodes ggml's 256-value types, the K-quants. Blocks are independent.
//
// Note: in types with minimums each accepted candidate of the search moves the minimum that later
// candidates start from.
#pragma once

#include "quantizers/ggml/block_functions.h"
#include "quantizers/ggml/k/k_layout.h"

namespace ckpt {
CKPT_K_TYPES(CKPT_DECLARE_ALL)
}  // namespace ckpt
