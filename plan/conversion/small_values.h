// Values that the scales of a type are too coarse for: ggml's NVFP4 has no scale for the tensor, so
// blocks whose largest value is far below 6 x 2^-9 lose their bits, or all of them. Measured on a
// sample of each weight that an output stores so.
#pragma once

#include <string>

#include "core/model/plan.h"

namespace ckpt {

// Empty if no weight lost much. Fails: kIo, kCorrupt, as reading them.
Result<std::string> note_of_small_values(const Output& output);

}  // namespace ckpt
