// The error of each type for each tensor: encoded, decoded and compared, on a sample of its rows.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "core/outputs/execute_options.h"

namespace ckpt {

// Values of a tensor that are measured: as many rows, evenly spread, as hold about so many. The
// same rows in every run. 128 Ki values tell the error to a fifth of a decibel.
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
};

// Facts about an entire tensor that a codec needs are taken from the sample.
//
// For each tensor and each of its codecs: the sum of w (value - decoded value)^2 over that of
// w value^2, w = 1 or the column's weight; 0 where all values are 0. NaN and Inf count as 0. The
// same numbers with any number of threads. Fails: as sample_rows; kInterrupted.
Result<std::vector<std::vector<double>>> measure_types(const std::vector<TypesToMeasure>& tensors,
                                                       const MeasureOptions& options);

}  // namespace ckpt
