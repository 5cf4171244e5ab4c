// What servers join becomes one: which layers change, and how.
#pragma once

#include "transforms/nvfp4/mixed_job.h"

namespace ckpt {

// Decides fates; layers that servers join get one algorithm, weight scale and input scale. Fails:
// kCorrupt: partners that are missing; kIo.
Status assign_fates(MixedJob& job);

}  // namespace ckpt
