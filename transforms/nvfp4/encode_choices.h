// How NVFP4 is encoded, as the options of several steps say it.
#pragma once

#include "core/model/codec.h"
#include "core/model/step_options.h"

namespace ckpt {

inline constexpr Choice kScaleSearches[] = {{"none", ScaleSearch::kNone},
                                            {"four-over-six", ScaleSearch::kFourOverSix},
                                            {"sweep", ScaleSearch::kSweep},
                                            {"best", ScaleSearch::kBest}};
inline constexpr Choice kRoundings[] = {{"gpu", false}, {"cpu", true}};  // EncodeOptions

}  // namespace ckpt
