// Weights that were quantized when they were read and are rounded once more: how far they move.
//
//   code x scale  ──▶  BF16 (F16, F32) that stays, or  ──▶  NVFP4 or FP8
//
// A product of a code and a scale is a BF16 number only where the scale has few bits; NVFP4 has no
// numbers for most of those that FP8 or 4-bit integers have. So both are measured.
#pragma once

#include <map>
#include <string>

#include "core/model/transform.h"

namespace ckpt {

using SourceWeights = std::map<std::string, Tensor>;  // as they were read, by name

// How notes speak of them: "3 WEIGHTS STAY (the first: 'x'): ...".
struct RoundingWords {
  std::string_view weights = "weights of FP8";
  std::string_view stay = "stay unquantized, as BF16";
};

// Sets second_error of what `checkpoint` makes of `weights`, and notes it over all and of the
// worst, and how many weights and blocks of 16 keep their values: of those that become plain
// floats, and of those that are quantized. Those that keep their codes, and those with Inf or NaN,
// are not read; of large models the others are measured on rows spread evenly. Reads that part
// of the weights. Fails: kIo, kCorrupt: NaN or Inf.
Status note_second_rounding(Checkpoint& checkpoint, const SourceWeights& weights,
                            const RoundingWords& words, const Context& context);

}  // namespace ckpt
