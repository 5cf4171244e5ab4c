// convert --target-size and --target-bits for a folder: chooses which layers become NVFP4 or FP8
// and which stay unquantized, as ModelOpt's auto_quantize does.
//
//   plan as nvfp4 ──▶ layers that became NVFP4, grouped as servers join them (q, k and v; gate and
//   up; all experts of a layer) ──▶ sampled error of NVFP4 and FP8 ──▶ one type per group
//   ──▶ the options --fp8 and --keep, with the layers that become FP8 or stay as they are
//
// Sizes are either those of all files of OUT, exact from plans, or effective bits as ModelOpt
// counts them: all linear layers and convolutions, NVFP4 4.5, FP8 8, others 16 bits.
// Source: NVIDIA Model-Optimizer 0.47 modelopt/torch/quantization/algorithms.py (AutoQuantize).
#pragma once

#include <utility>

#include "plan/size_target/size_target.h"

namespace ckpt {

// Effective bits of an export: 8 x bytes / weights of all linear layers, as ModelOpt counts them.
double effective_bits(const Checkpoint& checkpoint);

// Does what with_chosen_types() does, for a folder; --to is nvfp4, nvfp4-w4a16 or empty.
Result<std::pair<Conversion, ChosenTypes>> with_chosen_layers(const Conversion& conversion,
                                                              const SizeTarget& target,
                                                              Observer& observer, unsigned threads);

}  // namespace ckpt
