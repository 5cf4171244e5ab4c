// The product of two narrow matrices, times a number, which a LoRA adapter adds to a weight.
//
//   out[i][j] = s · (((b[i][0] a[0][j]) + b[i][1] a[1][j]) + ...)     all in float
//
// Each + with the preceding product is one fused multiply-add, with k ascending; the product with s
// rounds once more. This is the order of the F32 product in PyTorch on a CPU with FMA, so merged
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

// Fills `out`, whose rows and columns determine those of the factors. The bytes are the same on
// every processor.
using LowRankProduct = void (*)(const LowRank& factors, FloatRows out);

}  // namespace ckpt
