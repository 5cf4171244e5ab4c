// Bytes from several tensors that alternate: gate and up of each row, keys and
// values of each head.
//
//   runs of 2 of  a b | c d | e f   and runs of 1 of  x | y | z   give   a b x  c d y  e f z
//
// Nothing is kept in memory; bytes are read on demand. These are the inverse of take_grid and
// take_every (strided_source.h).
#pragma once

#include <vector>

#include "core/io/bytes.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// A tensor that is interleaved, and how many of its values come in each turn.
struct InterleavedLane {
  Tensor tensor;
  uint64_t run_values = 0;
};

// The values of all lanes in turn, as `shape`. Fails: kUnsupported: a lane that is computed, is
// stored otherwise than the first, or whose run cuts a block; kCorrupt: strands that do not end
// together, another number of values than `shape`.
Result<Tensor> interleave(const std::vector<InterleavedLane>& lanes, std::vector<uint64_t> shape);

// One part of what `tensor` would be stored as `codec`, whose bits it holds (find_repack): its
// codes or its scales alone, as bytes. Requires: the tensor is Stored.
SharedSource repacked_part(const Tensor& tensor, const Codec& codec, size_t part);

}  // namespace ckpt
