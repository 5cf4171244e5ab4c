// Provides values that earlier steps compute as the bytes that would be written now, so that a
// following step gives the same result as it would in another command, from the file.
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
