// Errors of types, kept for the next run in a file that a person names: --target-cache FILE.
//
//   ckpt-measured 1
//   sha256 HEX                     of all lines below
//   KEY q5_k=BITS q6_k=BITS ...    a line a tensor; BITS: of the double, in hex
//
// KEY is the SHA-256 of all that an error depends on: the version and commit of this
// program, the tensor's codec, shape, place in its file and operations, weights of columns, the
// search, the number of measured values; and size, time and inode of the files it is read from. So
// an entry is either the error that would be measured, or it is not found. Above 64 MB only what
// the last run asked for stays.
//
// The file is opened without following links, has mode 0600, and is only believed when it belongs
// to the user and nobody else may write to it.
#pragma once

#include <filesystem>

#include "plan/conversion/observer.h"
#include "plan/size_target/measure.h"

namespace ckpt {

// As measure_types(), which is asked for what `file` does not hold; then that is added to it. An
// empty path: measure_types(). A file that is damaged or of another format is noted, and replaced;
// one that cannot be written is noted. Fails: kUsage: `file` is a link, a folder, another user's or
// holds something else; as measure_types().
Result<std::vector<std::vector<double>>> measure_types_once(
    const std::filesystem::path& file, const std::vector<TypesToMeasure>& tensors,
    const MeasureOptions& options, Observer& observer);

}  // namespace ckpt
