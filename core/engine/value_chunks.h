// The values of pairs of tensors, decoded in parallel and chunk by chunk.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/chunks/tasks.h"
#include "core/computed/gather.h"
#include "core/model/checkpoint.h"

namespace ckpt {

class Progress;  // core/engine/execute.h

// Stored, or Recoded as after dequantize; its values after its operations are compared.
struct ValuePair {
  const Tensor* a;
  const Tensor* b;
};

struct CompareOptions {
  unsigned threads = 0;                         // 0 = all cores
  uint64_t memory_bytes = uint64_t{512} << 20;  // fewer threads if it is small
  const std::atomic<bool>* interrupted = nullptr;
  Progress* progress = nullptr;  // receives bytes of both sides, from one thread at a time
};

// One side of a chunk.
struct ChunkSide {
  std::span<float> values;  // the visitor may change them
  const Codec* codec;       // what they were decoded from
  uint64_t codes = 0;       // values whose codec says which codes are extreme
  uint64_t extreme = 0;     // of these, those with such a code (Codec::count_extreme)
};
struct ValueChunk {
  size_t pair;   // its index
  size_t index;  // of the chunk, counted through all pairs
  ChunkSide a, b;
};

// How pairs are cut depends only on their shapes and codecs, never on threads or memory.
class ValueChunks {
 public:
  // `floats` is the codec of plain 32-bit floats. Requires: the shapes of a pair are equal.
  // Fails: kUnsupported: a codec that cannot be decoded.
  static Result<ValueChunks> of(std::span<const ValuePair> pairs, const Codec& floats);

  size_t count() const;  // chunks of all pairs
  size_t first_chunk(size_t pair) const { return jobs_[pair].first_chunk; }
  size_t chunks(size_t pair) const { return jobs_[pair].chunks; }
  // Calls `visitor` once for each chunk, from several threads.
  // Fails: kCorrupt, kIo; kInterrupted.
  Status visit(const CompareOptions& options,
               const std::function<void(const ValueChunk&)>& visitor) const;

 private:
  // A tensor on its way to floats.
  struct Side {
    Tensor tensor;                   // Recoded to plain floats
    std::vector<SliceIndex> slices;  // of its source tensor, which must not move

    const Tensor& from() const { return *tensor.recoded().from; }
    const Codec& codec() const { return *from().codec; }
  };
  struct Job {
    Side sides[2];
    Grain grain;
    uint64_t chunk_rows;
    size_t first_chunk, chunks;
  };
  struct Scratch;
  class ScratchPool;

  static Result<Side> make_side(const Tensor& tensor, const Codec& floats);
  static Result<Job> make_job(const ValuePair& pair, const Codec& floats, size_t first_chunk);
  static Grain common_grain(const Side& a, const Side& b);
  struct Rows {
    uint64_t first, count;
  };
  static Status decode_rows(const Side& side, const Grain& grain, Rows rows, Scratch& scratch,
                            ChunkSide& out);
  Status visit_chunk(size_t index, Scratch& scratch,
                     const std::function<void(const ValueChunk&)>& visitor) const;
  unsigned thread_count(const CompareOptions& options) const;

  std::vector<Job> jobs_;
  uint64_t total_bytes_ = 0;
};

inline constexpr size_t kHistogramBins = 64;
using HistogramBins = std::array<uint64_t, kHistogramBins>;

// Equal bins from -`limit` to `limit`; both ends belong to a bin, and larger values to the last
// one.
struct ValueHistograms {
  HistogramBins a = {}, b = {};  // of the values
  HistogramBins errors = {};     // of a - b
};
// The range of the bins of one pair; 0 if all values are 0.
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
