// Histograms of the values of two tensors and of the error between them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/engine/value_chunks.h"

namespace ckpt {

inline constexpr size_t kHistogramBins = 64;
using HistogramBins = std::array<uint64_t, kHistogramBins>;

// Equal bins from -`limit` to `limit`; both ends belong to a bin, what lies beyond to the last.
struct ValueHistograms {
  HistogramBins a = {}, b = {};  // of the values
  HistogramBins errors = {};     // of a - b
};
// How far the bins of one pair reach; 0 where all values are 0.
struct HistogramLimits {
  double value, error;
};

// One for each pair; pairs with a NaN or Inf are counted nowhere. Requires: as many limits as
// pairs. Fails: as compare_values.
Result<std::vector<ValueHistograms>> value_histograms(std::span<const ValuePair> pairs,
                                                      std::span<const HistogramLimits> limits,
                                                      const Codec& floats,
                                                      const CompareOptions& options);

}  // namespace ckpt
