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

}  // namespace ckpt
