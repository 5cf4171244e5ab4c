#include "core/engine/value_chunks.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>

#include "core/base/threads.h"
#include "core/chunks/recode_chunk.h"
#include "core/engine/compare.h"
#include "core/engine/execute.h"

namespace ckpt {
namespace {

// Values of a chunk, about: part of what sums over chunks are, so never a matter of memory or
// threads.
constexpr uint64_t kChunkValues = 256 << 10;

// Tells how far the work is, as if all chunks were alike.
class ChunkProgress {
 public:
  ChunkProgress(uint64_t total_bytes, size_t chunks, Progress* progress)
      : chunks_(chunks), progress_(progress), total_bytes_(total_bytes) {}
  void add_chunk() {
    const uint64_t done = ++done_;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (progress_ == nullptr || !lock) return;
    const double share = static_cast<double>(done) / static_cast<double>(chunks_);
    progress_->advanced(static_cast<uint64_t>(share * static_cast<double>(total_bytes_)),
                        total_bytes_);
  }

 private:
  const size_t chunks_;
  Progress* const progress_;
  const uint64_t total_bytes_;
  std::atomic<uint64_t> done_{0};
  std::mutex mutex_;
};

}  // namespace

// Buffers that a thread reuses from chunk to chunk.
struct ValueChunks::Scratch {
  std::vector<GatherBuffers> buffers;
  RecodeScratch recode;
  std::vector<float> floats[2];
};

// Scratch memory that is used again.
class ValueChunks::ScratchPool {
 public:
  std::unique_ptr<Scratch> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Scratch>();
    auto out = std::move(free_.back());
    free_.pop_back();
    return out;
  }
  void give(std::unique_ptr<Scratch> scratch) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(scratch));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> free_;
};

Result<ValueChunks::Side> ValueChunks::make_side(const Tensor& tensor, const Codec& floats) {
  Side out;
  if (tensor.is_stored() && tensor.codec == &floats) {
    out.tensor = tensor;
    recode_itself(out.tensor);
  } else {
    CKPT_ASSIGN(out.tensor, recode(tensor, floats));
  }
  for (const auto& slices : out.from().stored().parts) out.slices.emplace_back(slices);
  return out;
}

// Rows that both sides can be cut at; of tensors that may be cut anywhere, short ones.
Grain ValueChunks::common_grain(const Side& a, const Side& b) {
  const Grain of_a = grain(a.tensor), of_b = grain(b.tensor);
  Grain out;
  out.row_values = std::lcm(of_a.row_values, of_b.row_values);
  out.rows = out.row_values == 0 ? 0 : a.tensor.values() / out.row_values;
  out.band_rows = std::lcm(of_a.band_rows, of_b.band_rows);
  return out;
}

Result<ValueChunks::Job> ValueChunks::make_job(const ValuePair& pair, const Codec& floats,
                                               size_t first_chunk) {
  CKPT_CHECK(pair.a->shape == pair.b->shape);
  Job job;
  CKPT_ASSIGN(job.sides[0], make_side(*pair.a, floats));
  CKPT_ASSIGN(job.sides[1], make_side(*pair.b, floats));
  job.grain = common_grain(job.sides[0], job.sides[1]);
  const uint64_t rows = kChunkValues / std::max<uint64_t>(1, job.grain.row_values);
  job.chunk_rows = std::max(job.grain.band_rows, rows / job.grain.band_rows * job.grain.band_rows);
  job.first_chunk = first_chunk;
  job.chunks = (job.grain.rows + job.chunk_rows - 1) / job.chunk_rows;
  return job;
}

Result<ValueChunks> ValueChunks::of(std::span<const ValuePair> pairs, const Codec& floats) {
  ValueChunks out;
  for (const ValuePair& pair : pairs) {
    CKPT_ASSIGN(out.jobs_.emplace_back(), make_job(pair, floats, out.count()));
    out.total_bytes_ += size_bytes(*pair.a) + size_bytes(*pair.b);
  }
  return out;
}

size_t ValueChunks::count() const {
  return jobs_.empty() ? 0 : jobs_.back().first_chunk + jobs_.back().chunks;
}

Status ValueChunks::decode_rows(const Side& side, const Grain& grain, Rows rows, Scratch& scratch,
                                ChunkSide& out) {
  const std::span<const PartRule> rules = side.codec().parts;
  if (scratch.buffers.size() < rules.size()) scratch.buffers.resize(rules.size());
  std::vector<std::span<const std::byte>> source;
  for (size_t i = 0; i < rules.size(); ++i) {
    const PartRange range = part_range(rules[i], grain, rows.first, rows.count);
    CKPT_ASSIGN(source.emplace_back(),
                gather(side.slices[i], range.first_bytes, range.size_bytes, scratch.buffers[i]));
  }
  if (side.codec().count_extreme != nullptr) {
    out.codes = out.values.size();
    out.extreme = side.codec().count_extreme(source, out.values.size());
  }
  const std::span<std::byte> bytes = std::as_writable_bytes(out.values);
  return recode_chunk({side.tensor, grain, rows.first, rows.count, source, {}, true},
                      scratch.recode, std::span(&bytes, 1));
}

Status ValueChunks::visit_chunk(size_t index, Scratch& scratch,
                                const std::function<void(const ValueChunk&)>& visitor) const {
  const auto job = std::ranges::upper_bound(
      jobs_, index, {}, [](const Job& one) { return one.first_chunk + one.chunks; });
  const uint64_t first = (index - job->first_chunk) * job->chunk_rows;
  const Rows rows{first, std::min(job->chunk_rows, job->grain.rows - first)};
  ValueChunk chunk{static_cast<size_t>(job - jobs_.begin()), index, {}, {}};
  for (size_t i = 0; i < 2; ++i) {
    const Side& side = job->sides[i];
    ChunkSide& out = i == 0 ? chunk.a : chunk.b;
    scratch.floats[i].resize(rows.count * job->grain.row_values);
    out.values = scratch.floats[i];
    out.codec = &side.codec();
    CKPT_TRY(in(side.tensor.home, in(fmt::format("tensor '{}'", side.tensor.name),
                                     decode_rows(side, job->grain, rows, scratch, out))));
  }
  visitor(chunk);
  return {};
}

// Returns how many threads have room for the bytes and floats of the largest chunk, for both sides.
unsigned ValueChunks::thread_count(const CompareOptions& options) const {
  uint64_t largest = 1;
  for (const Job& job : jobs_) {
    const uint64_t values = std::min(job.chunk_rows, job.grain.rows) * job.grain.row_values;
    largest = std::max(largest, values * 4 * sizeof(float));
  }
  return static_cast<unsigned>(
      std::clamp<uint64_t>(options.memory_bytes / largest, 1, cores_or(options.threads)));
}

Status ValueChunks::visit(const CompareOptions& options,
                          const std::function<void(const ValueChunk&)>& visitor) const {
  ScratchPool pool;
  ChunkProgress progress(total_bytes_, count(), options.progress);
  return for_each_parallel(count(), thread_count(options), [&](size_t index) -> Status {
    CKPT_TRY(check_not_interrupted(options.interrupted));
    std::unique_ptr<Scratch> scratch = pool.take();
    CKPT_TRY(visit_chunk(index, *scratch, visitor));
    pool.give(std::move(scratch));
    progress.add_chunk();
    return {};
  });
}

}  // namespace ckpt
