// Joins slices into one, for sources that need their input in one piece.
#pragma once

#include <vector>

#include "core/io/bytes.h"

namespace ckpt {

// Returns a slice with the bytes of `slices` one after the other. It reads them on demand. A single
// slice is returned as it is.
Slice joined(const std::vector<Slice>& slices);

}  // namespace ckpt
