// Importance matrices of several runs as one, as llama-imatrix --in-file adds them.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/imatrix.h"

namespace ckpt {

// The key that tells a file in which fill_imatrix() made statistics up: how many matrices.
inline constexpr std::string_view kFilledKey = "ckpt.imatrix.filled";

// Sums and counts added in the order of `files`, in floats; legacy ones times `chunk_size`, as
// their sums are of chunks. chunk_size 0: that of the files, 512 where none has one. The result is
// not legacy. `notes` gets what was left out. Fails: kUsage for chunk sizes that differ, and for a
// filled file; kUnsupported for counts of two kinds, sizes that differ, sums past a float's range.
Result<ImatrixSums> merge_imatrices(std::vector<ImatrixSums> files, uint64_t chunk_size,
                                    std::vector<std::string>& notes);

}  // namespace ckpt
