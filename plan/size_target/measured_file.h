// Errors of types, saved for the next run in the file that the user names: --target-cache FILE.
//
//   ckpt-measured 1
//   sha256 HEX                     of all lines below
//   KEY q5_k=BITS q6_k=BITS ...    a line a tensor; BITS: of the double, in hex
//
// KEY is the SHA-256 of everything that an error depends on: the version and commit of this
// program, the tensor's codec, shape, place in its file and operations, weights of columns, the
// search, the number of measured values; and size, time and inode of its source files. An entry
// that is found is therefore the error that would be measured. Above 64 MB only entries that the
// last run used are kept.
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

// About how many values of a tensor are measured, in evenly spread rows, the same in every run. 128
// Ki values determine the error to a fifth of a decibel.
inline constexpr uint64_t kMeasuredValues = uint64_t{1} << 17;

struct TypesToMeasure {
  Tensor values;  // as they are before they are quantized
  std::shared_ptr<const ColumnWeights>
      weights;  // to encode with and to weigh errors by; may be null
  std::vector<const Codec*> codecs;
  ScaleSearch search =
      ScaleSearch::kNone;  // used by NVFP4; where it is kBest, by types with such a search, too
};

struct MeasureOptions {
  unsigned threads = 0;  // 0 = all cores
  const std::atomic<bool>* interrupted = nullptr;
  Progress* progress = nullptr;  // told values encoded, of all that will be
  bool is_read_far = false;      // from a server, which threads wait for most of the time
};

// Facts about an entire tensor that a codec needs are taken from the sample.
//
// For each tensor and each of its codecs: the sum of w (value - decoded value)^2 over that of
// w value^2, w = 1 or the column's weight; 0 where all values are 0. NaN and Inf count as 0. The
// same numbers with any number of threads. Fails: as sample_rows; kInterrupted.
Result<std::vector<std::vector<double>>> measure_types(const std::vector<TypesToMeasure>& tensors,
                                                       const MeasureOptions& options);

// As measure_types(), which is called for entries that `target_cache` of the conversion does not
// contain; they are then added. An empty path: measure_types(). A damaged file or one of another
// format is replaced, with a note; a note also reports a file that cannot be written. Fails:
// kUsage: the file is a link, a folder, another user's or has other content; as measure_types().
Result<std::vector<std::vector<double>>> measure_types_once(
    const Conversion& conversion, const std::vector<TypesToMeasure>& tensors, Observer& observer,
    unsigned threads);

}  // namespace ckpt
