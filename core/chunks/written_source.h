// Encodes what earlier steps compute into the bytes that a file would have. A step that reads these
// bytes gives the same result as in a second command that reads the written file.
//
//   Recoded   from ─ decode, operations, encode ─▶ codes, scales, ...     when the plan is executed
//   Stored    one source per part, which does this whenever it is read
#pragma once

#include "core/model/checkpoint.h"

namespace ckpt {

// Returns the same tensor as Stored; a Stored tensor is returned unchanged. Reading its parts
// encodes them; if the codec needs statistics of the entire tensor, it is read once before.
Tensor stored_as_written(const Tensor& tensor);
// Whether reading a few bytes of `source` reads an entire tensor first.
bool scans_when_read(const ByteSource& source);

}  // namespace ckpt
