// convert --target-size and --target-bits for a folder: chooses which layers become NVFP4 or FP8
// and which stay unquantized, as ModelOpt's auto_quantize does.
//
//   plan as nvfp4 ──▶ layers that became NVFP4, in groups that servers join (q, k and v; gate and
//   up; all experts of a layer) ──▶ error of NVFP4 and FP8, sampled ──▶ one type a group
//   ──▶ --fp8 and --keep for the layers that get another type than NVFP4
//
// Sizes: of all files of OUT, exact, from plans; or effective bits as ModelOpt counts them: all
// linear layers and convolutions, NVFP4 4.5, FP8 8, all others 16 bits a weight.
// Source: NVIDIA Model-Optimizer 0.47 modelopt/torch/quantization/algorithms.py (AutoQuantize).
#pragma once

#include <utility>

#include "plan/size_target/size_target.h"

namespace ckpt {

// 8 x bytes / weights of all linear layers of `checkpoint`, an export, as ModelOpt counts them.
double effective_bits(const Checkpoint& checkpoint);

// As with_chosen_types(), for an OUT that is a folder; --to is nvfp4, nvfp4-w4a16 or empty.
Result<std::pair<Conversion, ChosenTypes>> with_chosen_layers(const Conversion& conversion,
                                                              const SizeTarget& target,
                                                              Observer& observer, unsigned threads);

}  // namespace ckpt
