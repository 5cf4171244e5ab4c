// The list of codecs and a kernel. Other folders include only this header of quantizers/.
#pragma once

#include "core/base/result.h"
#include "core/model/codec.h"
#include "core/model/low_rank.h"

namespace ckpt {

// Returns every codec, including the plain one of each Dtype.
Codecs all_codecs();

// The LowRankProduct for this processor.
void low_rank_product(const LowRank& factors, FloatRows out);

// Requires that CKPT_SIMD, if set, names instructions that this CPU has (scalar, sse4, avx2,
// avx512, neon). Kernels then use only these. Fails: kUsage, naming those it has.
Status check_simd_environment();
// The name of the instructions that kernels use.
std::string_view simd_in_use();

}  // namespace ckpt
