// Packed INT4 into ggml's Q4_0: bits move, nothing rounds.
#pragma once

#include "core/model/codec.h"

namespace ckpt {

// Parts that q4_0 takes over: codes and scales of int4_g32 and int4_g128.
extern const Repack kInt4Repacks[2];

}  // namespace ckpt
