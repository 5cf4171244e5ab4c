// A tensor that several files hold in chunks; private to formats/.
//
//   ┌───┬────┐  The chunks cover the tensor and do not overlap. Each rank may have rows (FSDP),
//   │ a │ b  │  columns (tensor parallelism) or both. from_chunks() looks for a line that cuts no
//   ├───┴────┤  chunk, builds both sides, and joins them: the bytes of one side follow those of the
//   │ c      │  other, or rows of both alternate.
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

// Joins `chunks` into one tensor with the name, shape and codec of `like`, whose codec must be that
// of a plain type such as BF16. Skips chunks without values. Of several chunks that start at the
// same place, as replicas do, the first is used.
// Fails: kCorrupt: a chunk is partly outside the tensor, two chunks overlap, or no chunk has some
// values.
Result<Tensor> from_chunks(Tensor like, std::vector<TensorChunk> chunks);

// Returns the values of `view` in row order, whatever its strides are. Fails: kUnsupported: more
// than three axes are out of row order.
Result<Slice> in_row_order(const TorchView& view);

}  // namespace ckpt
