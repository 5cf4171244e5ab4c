// A product of two narrow matrices, times a number: what a LoRA adapter adds to a weight.
//
//   out[i][j] = s · (((b[i][0] a[0][j]) + b[i][1] a[1][j]) + ...)     all in float
//
// Each + with the product before it is one fused multiply-add, k ascending; the product with s
// rounds once more. The order is that of the F32 product in PyTorch on a CPU with FMA, so merged
// weights equal those that PEFT writes, bit for bit.
#pragma once

#include <cstdint>
#include <span>

#include "core/model/codec.h"

namespace ckpt {

struct LowRank {
  std::span<const float> left;   // rows x rank
  std::span<const float> right;  // rank x columns
  uint64_t rank;
  float scale;
};

// Fills `out`, whose rows and columns determine those of the factors. Same bytes on every
// processor.
using LowRankProduct = void (*)(const LowRank& factors, FloatRows out);

}  // namespace ckpt
