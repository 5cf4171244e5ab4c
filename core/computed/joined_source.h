// Slices that follow each other, as one: for sources that put bytes of one run in another order.
#pragma once

#include <vector>

#include "core/io/bytes.h"

namespace ckpt {

// The slice itself if there is only one. Nothing is kept in memory; bytes are read on demand.
Slice joined(const std::vector<Slice>& slices);

}  // namespace ckpt
