// Measures the error of weights that were quantized in the input and are rounded again.
//
//   code x scale  ──▶  BF16 (F16, F32) that stays, or  ──▶  NVFP4 or FP8
//
// The product of a code and a scale is a BF16 number only if the scale has few bits, and NVFP4
// cannot represent most values of FP8 or 4-bit integers. So both are measured.
#pragma once

#include <map>
#include <string>

#include "core/model/transform.h"

namespace ckpt {

using SourceWeights = std::map<std::string, Tensor>;  // by name, before the steps

// The words for notes: "3 WEIGHTS STAY (the first: 'x'): ...".
struct RoundingWords {
  std::string_view weights = "weights of FP8";
  std::string_view stay = "stay unquantized, as BF16";
};

// Sets second_error of the tensors that `checkpoint` makes from `weights`. Notes the total error,
// the worst weights, and how many weights and blocks of 16 keep their values, separately for new
// plain floats and for new quantized weights. Weights that keep their codes or contain Inf or NaN
// are not read; large models are sampled in evenly spread rows. Fails: kIo, kCorrupt: NaN or Inf.
Status note_second_rounding(Checkpoint& checkpoint, const SourceWeights& weights,
                            const RoundingWords& words, const Context& context);

}  // namespace ckpt
