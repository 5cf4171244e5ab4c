// Alternates bytes of several tensors: gate and up of each row, keys and values of each head.
//
//   runs of 2 of  a b | c d | e f   and runs of 1 of  x | y | z   give   a b x  c d y  e f z
//
// Nothing is kept in memory; bytes are read on demand. These functions are the inverse of take_grid
// and take_every (strided_source.h).
#pragma once

#include <vector>

#include "core/io/bytes.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// A tensor to interleave, and the number of its values per turn.
struct InterleavedLane {
  Tensor tensor;
  uint64_t run_values = 0;
};

// Returns the values of all lanes in turn, with shape `shape`. Fails: kUnsupported: a lane is
// computed, has another codec than the first, or has runs that split a block; kCorrupt: lanes do
// not end together, or do not have as many values as `shape`.
Result<Tensor> interleave(const std::vector<InterleavedLane>& lanes, std::vector<uint64_t> shape);

// Returns one part of `tensor` repacked to `codec` (find_repack), its codes or its scales, as
// bytes. Requires: the tensor is Stored.
SharedSource repacked_part(const Tensor& tensor, const Codec& codec, size_t part);

}  // namespace ckpt
