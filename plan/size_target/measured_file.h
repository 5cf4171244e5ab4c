// Errors of types, saved for the next run in the file that the user names: --target-cache FILE.
//
//   ckpt-measured 1
//   sha256 HEX                     of all following lines
//   KEY q5_k=BITS q6_k=BITS ...    one line per tensor; BITS: the double's bits in hex
//
// KEY is the SHA-256 of everything that an error depends on: version and commit of this program,
// the tensor's codec, shape, place in its file and operations, weights of columns, the search, the
// number of measured values; and size, time and inode of its source files. A found entry therefore
// equals the error that would be measured. Above 64 MB only entries that the last run used are
// kept.
//
// The file is opened without following links, has mode 0600, and is only used if it belongs to the
// user and nobody else may write to it.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "core/outputs/execute_options.h"
#include "plan/conversion/observer.h"

namespace ckpt {

struct Conversion;

// The approximate number of measured values per tensor, in evenly spaced rows, the same in every
// run. 128 Ki values determine the error to a fifth of a decibel.
inline constexpr uint64_t kMeasuredValues = uint64_t{1} << 17;

struct TypesToMeasure {
  Tensor values;  // before quantization
  std::shared_ptr<const ColumnWeights>
      weights;  // used for encoding and for weighing errors; may be null
  std::vector<const Codec*> codecs;
  ScaleSearch search =
      ScaleSearch::kNone;  // for NVFP4; kBest also applies to other types that have such a search
};

struct MeasureOptions {
  unsigned threads = 0;  // 0 = all cores
  const std::atomic<bool>* interrupted = nullptr;
  Progress* progress = nullptr;  // receives encoded values and their total
  bool is_read_far = false;      // the source is a server, so threads mostly wait
};

// Facts about an entire tensor that a codec needs are estimated from the sample.
//
// Returns, for each tensor and each of its codecs, the sum of w (value - decoded value)^2 divided
// by that of w value^2, where w is 1 or the column's weight; 0 if all values are 0. NaN and Inf
// count as 0. The result does not depend on the threads. Fails: as sample_rows; kInterrupted.
Result<std::vector<std::vector<double>>> measure_types(const std::vector<TypesToMeasure>& tensors,
                                                       const MeasureOptions& options);

// Does the same as measure_types(), but measures only entries that the conversion's `target_cache`
// lacks, and adds them to that file. With an empty path, it only calls measure_types(). A damaged
// file or one of another format is replaced, with a note; a note also reports a file that cannot be
// written. Fails: kUsage: the file is a link, a folder, another user's or has other content; else
// as measure_types().
Result<std::vector<std::vector<double>>> measure_types_once(
    const Conversion& conversion, const std::vector<TypesToMeasure>& tensors, Observer& observer,
    unsigned threads);

}  // namespace ckpt
