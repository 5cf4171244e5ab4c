// Values that earlier steps compute, as the bytes that would be written now: a step that starts
// from them gives what it would give in another command, from the file.
//
//   Recoded   from ─ decode, operations, encode ─▶ codes, scales, ...     when the plan is executed
//   Stored    one source for each part, which does this whenever it is read
#pragma once

#include "core/model/checkpoint.h"

namespace ckpt {

// The same tensor, Stored; itself if it is Stored already. Its parts are encoded while they are
// read, and if the codec needs statistics of the entire tensor, it is read once before.
Tensor stored_as_written(const Tensor& tensor);
// Whether reading a few bytes of `source` reads an entire tensor first.
bool scans_when_read(const ByteSource& source);

}  // namespace ckpt
