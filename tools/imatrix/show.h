// The output of `ckpt imatrix show`.
#pragma once

#include "core/model/imatrix.h"
#include "tools/say/console.h"

namespace ckpt {

// Data sets, chunks, and how much experts saw; `all_tensors`: those without experts too.
void show_imatrix(const ImatrixSums& imatrix, bool all_tensors, const Console& console);

}  // namespace ckpt
