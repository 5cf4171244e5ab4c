// A tensor that several files hold in chunks; private to formats/.
//
//   ┌───┬────┐  chunks of any sizes that cover a box and do not overlap: rows of each rank,
//   │ a │ b  │  columns of tensor parallelism, both. A box that one cut divides is joined of the
//   ├───┴────┤  two sides: bytes that follow each other, or runs of both in turn.
//   │ c      │
//   └────────┘
#pragma once

#include <string>
#include <vector>

#include "core/model/checkpoint.h"
#include "formats/torch.h"

namespace ckpt {

struct TensorChunk {
  std::vector<uint64_t> offsets, sizes;  // of each axis of the tensor
  Slice bytes;                           // its values, row after row
};

// The tensor `like`, which has a name, a shape and a codec of plain numbers. Chunks without values
// are left out, and of several at one place the first counts. Fails: kCorrupt: a chunk leaves the
// tensor, two overlap, values that no chunk has.
Result<Tensor> from_chunks(Tensor like, std::vector<TensorChunk> chunks);

// The values of `view`, whatever its strides, as rows that follow each other. Fails: kUnsupported:
// more than three axes in another order than that of rows.
Result<Slice> in_row_order(const TorchView& view);

}  // namespace ckpt
