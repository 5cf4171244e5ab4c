// Plans moving values from one codec to another that holds them bit for bit. The engine moves a run
// of rows in recode_chunk().
//
//   parts of `from` ── entire blocks change columns ──▶ Repack::move ──▶ parts of the target codec
//
// Blocks of `from` move before they are packed again, so a permutation needs entire blocks of
// `from`, whatever the block size of the target is.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// Returns `tensor` with its bits moved into the parts of `codec`. Requires: it is Stored, or
// Recoded with the codec of its source. Fails: kUnsupported if codec.repacks lacks the tensor's
// codec, or an operation changes values or splits blocks; check_shape's errors.
Result<Tensor> repack(Tensor tensor, const Codec& codec);

// The scheme of the codec that the tensor's bits are moved from; kPlain if they are not moved.
Scheme moved_scheme(const Tensor& tensor);

// Counts tensors whose bits are moved, and the blocks of their codec. A tensor whose codes are kept
// where that is exact counts too, with its exact blocks of the source codec.
struct MovedBlocks {
  uint64_t tensors = 0, blocks = 0;
};
MovedBlocks count_moved(const std::vector<Tensor>& tensors);

}  // namespace ckpt
