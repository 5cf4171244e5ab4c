// Each chunk is counted into separate histograms, which are added under a lock: threads do not wait
// for each other while they count.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/engine/value_chunks.h"

namespace ckpt {
namespace {

size_t bin_of(double value, double limit) {
  if (limit <= 0) return kHistogramBins / 2;
  const double at = (value / limit + 1) / 2 * static_cast<double>(kHistogramBins);
  return static_cast<size_t>(std::clamp(at, 0.0, static_cast<double>(kHistogramBins - 1)));
}

void count_values(const ValueChunk& chunk, const HistogramLimits& limits, ValueHistograms& out) {
  for (size_t i = 0; i < chunk.a.values.size(); ++i) {
    const auto a = static_cast<double>(chunk.a.values[i]);
    const auto b = static_cast<double>(chunk.b.values[i]);
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    ++out.a[bin_of(a, limits.value)];
    ++out.b[bin_of(b, limits.value)];
    ++out.errors[bin_of(a - b, limits.error)];
  }
}

void add_bins(const HistogramBins& from, HistogramBins& into) {
  for (size_t i = 0; i < kHistogramBins; ++i) into[i] += from[i];
}

}  // namespace

Result<std::vector<ValueHistograms>> value_histograms(std::span<const ValuePair> pairs,
                                                      std::span<const HistogramLimits> limits,
                                                      const Codec& floats,
                                                      const CompareOptions& options) {
  CKPT_CHECK(pairs.size() == limits.size());
  CKPT_ASSIGN(const ValueChunks chunks, ValueChunks::of(pairs, floats));
  std::vector<ValueHistograms> out(pairs.size());
  std::mutex mutex;
  CKPT_TRY(chunks.visit(options, [&](const ValueChunk& chunk) {
    ValueHistograms own;
    count_values(chunk, limits[chunk.pair], own);
    const std::lock_guard lock(mutex);
    add_bins(own.a, out[chunk.pair].a);
    add_bins(own.b, out[chunk.pair].b);
    add_bins(own.errors, out[chunk.pair].errors);
  }));
  return out;
}

}  // namespace ckpt
