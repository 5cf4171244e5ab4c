// Joins slices into one, for sources that need their input in one piece.
#pragma once

#include <vector>

#include "core/io/bytes.h"

namespace ckpt {

// Returns a slice with the bytes of `slices` in sequence, read on demand. A single slice is
// returned unchanged.
Slice joined(const std::vector<Slice>& slices);

}  // namespace ckpt
