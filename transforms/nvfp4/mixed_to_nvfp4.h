// The mixed-to-nvfp4 step: checkpoints of FP8, NVFP4 and NVFP4_AWQ layers become plain NVFP4, which
// every server takes.
//
//   NVFP4                     as it is, bit for bit
//   NVFP4_AWQ                 pre_quant_scale folded into the layer or norm before where that is
//                             exact; what is left into the columns, encoded anew
//   FP8                       encoded anew, from the base where there is one; or plain
//   joined by servers         one algorithm, weight_scale_2 and input_scale
//   documents                 one quant_algo with exclude_modules, the same in both
//
// Dropping pre_quant_scale or renaming the algorithm gives wrong products, since weights are stored
// divided by it.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// Fails: kUsage for options; kUnsupported and kCorrupt as read_mixed_model says; kCorrupt: layers
// whose partners are missing.
Result<Checkpoint> mixed_to_nvfp4(Checkpoint checkpoint, const OptionValues& options,
                                  const Context& context);

}  // namespace ckpt
