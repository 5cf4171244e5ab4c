// Moves values from one codec to another that holds them bit for bit: the planning half. The engine
// moves a run of rows in recode_chunk().
//
//   parts of `from` ── whole blocks change columns ──▶ Repack::move ──▶ parts of my codec
//
// The blocks of `from` move before they are packed again, so a permutation needs whole blocks of
// `from`, however large those of the target are.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// `tensor` with its bits moved into the parts of `codec`. Requires: it is Stored, or Recoded with
// the codec of what it is made from. Fails: kUnsupported when codec.repacks does not have the
// tensor's codec, or an operation changes values or parts blocks; check_shape's errors.
Result<Tensor> repack(Tensor tensor, const Codec& codec);

// The scheme of the codec that the tensor's bits are moved from; kPlain: they are not moved.
Scheme moved_scheme(const Tensor& tensor);

// Tensors whose bits are moved, and the blocks of their codec. Tensors whose codes are kept where
// that is exact count too, with their exact blocks of the source codec.
struct MovedBlocks {
  uint64_t tensors = 0, blocks = 0;
};
MovedBlocks count_moved(const std::vector<Tensor>& tensors);

}  // namespace ckpt
