// What is said of the layers that changed, and how far they moved.
#pragma once

#include "transforms/nvfp4/mixed_job.h"

namespace ckpt {

// Measures and notes what was done, layer by layer; before the tensors are built. Fails:
// kUnsupported: a layer falls below fail_below_db; kIo.
Status report_layers(const MixedJob& job);

}  // namespace ckpt
