// The list of codecs, and a kernel: the only header of this folder that others include.
#pragma once

#include "core/base/result.h"
#include "core/model/codec.h"
#include "core/model/low_rank.h"

namespace ckpt {

// Every codec, the plain one of each Dtype among them.
Codecs all_codecs();

// The LowRankProduct of this processor.
void low_rank_product(const LowRank& factors, FloatRows out);

// Whether CKPT_SIMD, which forces the instructions that kernels use (scalar, sse4, avx2, avx512,
// neon), names some that this CPU has. Fails: kUsage, naming those it has.
Status check_simd_environment();
// Those that kernels use, by the same words.
std::string_view simd_in_use();

}  // namespace ckpt
