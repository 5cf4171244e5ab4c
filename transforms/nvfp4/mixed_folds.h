// Where the scales of AWQ go on the way to plain NVFP4.
#pragma once

#include "transforms/nvfp4/mixed_job.h"

namespace ckpt {

// Moves pre_quant_scales out of layers: into norms, into the layer before; what is left becomes
// LayerPlan::columns. Fails: kCorrupt: scales that are no positive numbers; kIo.
Status fold_scales(MixedJob& job);

}  // namespace ckpt
