// Weights that were quantized when they were read and are rounded once more: how far that moves
// them.
//
//   FP8 x scale, INT4 x scale  ──▶  BF16  ──▶  NVFP4 or FP8, or BF16 that stays
//
// A product of a code and a scale is a BF16 number only where the scale has few bits; NVFP4 has no
// numbers for most of those that FP8 or 4-bit integers have. So both are measured.
#pragma once

#include <map>
#include <string>

#include "core/model/transform.h"

namespace ckpt {

using SourceWeights = std::map<std::string, Tensor>;  // as they were read, by name

// Sets second_error of what `checkpoint` makes of `weights`, and notes it over all and of the
// worst, and how many weights and blocks of 16 keep their values: of those that become BF16, and of
// those that are quantized. `kind` says what they were: "FP8". Those that keep their codes are not
// looked at; of large models the others are measured on rows spread evenly. Reads that part of the
// weights. Fails: kIo, kCorrupt: NaN or Inf.
Status note_second_rounding(Checkpoint& checkpoint, const SourceWeights& weights,
                            std::string_view kind, const Context& context);

}  // namespace ckpt
