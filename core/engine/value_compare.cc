#include "core/engine/value_compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/chunks/recode_chunk.h"
#include "core/engine/compare.h"
#include "core/engine/execute.h"
#include "core/model/gather.h"

namespace ckpt {
namespace {

// Values of a chunk, about: part of what the sums are, so never a matter of memory or threads.
constexpr uint64_t kChunkValues = 256 << 10;
constexpr size_t kLanes = 8;  // sums of a chunk: value i goes to lane i % 8

// ---- one chunk ---------------------------------------------------------------------------------

struct Lanes {
  double a[kLanes] = {}, b[kLanes] = {}, products[kLanes] = {}, errors[kLanes] = {};
  double largest[kLanes] = {};
};

void add_finite(const float* a, const float* b, uint64_t count, Lanes& lanes) {
  uint64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double x = static_cast<double>(a[i + lane]), y = static_cast<double>(b[i + lane]);
      const double error = x - y;
      lanes.a[lane] += x * x;
      lanes.b[lane] += y * y;
      lanes.products[lane] += x * y;
      lanes.errors[lane] += error * error;
      lanes.largest[lane] = std::max(lanes.largest[lane], std::fabs(error));
    }
  }
  for (size_t lane = 0; i < count; ++i, ++lane) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    lanes.a[lane] += x * x;
    lanes.b[lane] += y * y;
    lanes.products[lane] += x * y;
    lanes.errors[lane] += (x - y) * (x - y);
    lanes.largest[lane] = std::max(lanes.largest[lane], std::fabs(x - y));
  }
}

bool all_finite(const float* values, uint64_t count) {
  bool finite = true;
  for (uint64_t i = 0; i < count; ++i) finite = finite && std::isfinite(values[i]);
  return finite;
}

// Counts what is not finite and puts zeros there, which add nothing to any sum.
void take_out_nonfinite(std::span<float> a, std::span<float> b, ValueDifference& out) {
  for (size_t i = 0; i < a.size(); ++i) {
    const bool finite_a = std::isfinite(a[i]), finite_b = std::isfinite(b[i]);
    if (finite_a && finite_b) continue;
    out.sides[0].nonfinite += finite_a ? 0 : 1;
    out.sides[1].nonfinite += finite_b ? 0 : 1;
    out.one_sided += finite_a != finite_b ? 1 : 0;
    --out.values;
    a[i] = b[i] = 0;
  }
}

double sum(const double (&lanes)[kLanes]) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

void add_sums(std::span<float> a, std::span<float> b, ValueDifference& out) {
  out.values += a.size();
  if (!all_finite(a.data(), a.size()) || !all_finite(b.data(), b.size())) {
    take_out_nonfinite(a, b, out);
  }
  Lanes lanes;
  add_finite(a.data(), b.data(), a.size(), lanes);
  out.sides[0].sum_squares += sum(lanes.a);
  out.sides[1].sum_squares += sum(lanes.b);
  out.sum_products += sum(lanes.products);
  out.sum_squared_errors += sum(lanes.errors);
  out.max_error = std::max(out.max_error, *std::max_element(lanes.largest, lanes.largest + kLanes));
}

bool all_zero(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 0; });
}

// Blocks of `block_values`; a row holds whole ones, so rows need not be told apart.
void count_flushed(std::span<const float> own, std::span<const float> other, uint64_t block_values,
                   ValueSide& side) {
  if (block_values < 2) return;
  for (size_t at = 0; at + block_values <= own.size(); at += block_values) {
    ++side.blocks;
    if (all_zero(own.subspan(at, block_values)) && !all_zero(other.subspan(at, block_values))) {
      ++side.flushed_blocks;
    }
  }
}

// ---- one pair ----------------------------------------------------------------------------------

// A tensor on its way to floats.
struct Side {
  Tensor tensor;                   // Recoded to plain floats
  std::vector<SliceIndex> slices;  // of the tensor it is made from, which stays where it is

  const Tensor& from() const { return *tensor.recoded().from; }
  const Codec& codec() const { return *from().codec; }
};

struct Job {
  Side sides[2];
  Grain grain;
  uint64_t chunk_rows;
  size_t first_chunk, chunks;
};

Result<Side> make_side(const Tensor& tensor, const Codec& floats) {
  Side out;
  if (tensor.is_stored() && tensor.codec == &floats) {
    out.tensor = tensor;
    out.tensor.origin =
        Recoded{std::make_shared<const Tensor>(tensor), {}, {}, nullptr, {}, {}, nullptr};
  } else {
    CKPT_ASSIGN(out.tensor, recode(tensor, floats));
  }
  for (const auto& slices : out.from().stored().parts) out.slices.emplace_back(slices);
  return out;
}

// Rows that both sides can be cut at; of tensors that may be cut anywhere, short ones.
Grain common_grain(const Side& a, const Side& b) {
  const Grain of_a = grain(a.tensor), of_b = grain(b.tensor);
  Grain out;
  out.row_values = std::lcm(of_a.row_values, of_b.row_values);
  out.rows = out.row_values == 0 ? 0 : a.tensor.values() / out.row_values;
  out.band_rows = std::lcm(of_a.band_rows, of_b.band_rows);
  return out;
}

Result<Job> make_job(const ValuePair& pair, const Codec& floats, size_t first_chunk) {
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

// What a thread needs for one chunk after the other.
struct Scratch {
  std::vector<GatherBuffers> buffers;
  RecodeScratch recode;
  std::vector<float> floats[2];
};

Status decode_rows(const Side& side, const Grain& grain, uint64_t first, uint64_t rows,
                   Scratch& scratch, std::span<float> out, ValueSide& counts) {
  const std::span<const PartRule> rules = side.codec().parts;
  if (scratch.buffers.size() < rules.size()) scratch.buffers.resize(rules.size());
  std::vector<std::span<const std::byte>> source;
  for (size_t i = 0; i < rules.size(); ++i) {
    const PartRange range = part_range(rules[i], grain, first, rows);
    CKPT_ASSIGN(const auto bytes,
                gather(side.slices[i], range.first_bytes, range.size_bytes, scratch.buffers[i]));
    source.push_back(bytes);
  }
  if (side.codec().count_extreme != nullptr) {
    counts.codes += out.size();
    counts.extreme += side.codec().count_extreme(source, out.size());
  }
  const std::span<std::byte> bytes = std::as_writable_bytes(out);
  return recode_chunk({side.tensor, grain, first, rows, source, {}, true}, scratch.recode,
                      std::span(&bytes, 1));
}

Status compare_chunk(const Job& job, uint64_t chunk, Scratch& scratch, ValueDifference& out) {
  const uint64_t first = chunk * job.chunk_rows;
  const uint64_t rows = std::min(job.chunk_rows, job.grain.rows - first);
  for (size_t i = 0; i < 2; ++i) {
    scratch.floats[i].resize(rows * job.grain.row_values);
    CKPT_TRY(
        in(job.sides[i].tensor.home, in(fmt::format("tensor '{}'", job.sides[i].tensor.name),
                                        decode_rows(job.sides[i], job.grain, first, rows, scratch,
                                                    scratch.floats[i], out.sides[i]))));
  }
  auto& [a, b] = scratch.floats;
  count_flushed(a, b, job.sides[0].codec().block_values, out.sides[0]);
  count_flushed(b, a, job.sides[1].codec().block_values, out.sides[1]);
  add_sums(a, b, out);
  return {};
}

// As many threads as the largest chunk leaves room for: its bytes and floats, of both sides.
unsigned thread_count(const std::vector<Job>& jobs, const CompareOptions& options) {
  uint64_t largest = 1;
  for (const Job& job : jobs) {
    const uint64_t values = std::min(job.chunk_rows, job.grain.rows) * job.grain.row_values;
    largest = std::max(largest, values * 4 * sizeof(float));
  }
  const uint64_t wanted =
      options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::clamp<uint64_t>(options.memory_bytes / largest, 1, wanted));
}

// Scratch memory that is used again.
class ScratchPool {
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

}  // namespace

// ---- what follows from the sums ----------------------------------------------------------------

std::optional<double> ValueSide::saturated() const {
  if (codes == 0) return std::nullopt;
  return static_cast<double>(extreme) / static_cast<double>(codes);
}

double ValueDifference::rmse() const {
  return values == 0 ? 0 : std::sqrt(sum_squared_errors / static_cast<double>(values));
}

double ValueDifference::relative() const {
  return sum_squared_errors == 0 ? 0 : std::sqrt(sum_squared_errors / sides[0].sum_squares);
}

double ValueDifference::sqnr_db() const {
  if (sum_squared_errors == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(sides[0].sum_squares / sum_squared_errors);
}

double ValueDifference::cosine() const {
  const double a = sides[0].sum_squares, b = sides[1].sum_squares;
  if (a == 0 || b == 0) return a == b ? 1 : 0;
  return std::min(1.0, sum_products / (std::sqrt(a) * std::sqrt(b)));
}

void combine(ValueDifference& into, const ValueDifference& other) {
  for (size_t i = 0; i < 2; ++i) {
    ValueSide& side = into.sides[i];
    side.sum_squares += other.sides[i].sum_squares;
    side.nonfinite += other.sides[i].nonfinite;
    side.codes += other.sides[i].codes;
    side.extreme += other.sides[i].extreme;
    side.blocks += other.sides[i].blocks;
    side.flushed_blocks += other.sides[i].flushed_blocks;
  }
  into.values += other.values;
  into.one_sided += other.one_sided;
  into.sum_products += other.sum_products;
  into.sum_squared_errors += other.sum_squared_errors;
  into.max_error = std::max(into.max_error, other.max_error);
}

namespace {

// Tells how far the work is, as if all chunks were alike.
class ChunkProgress {
 public:
  ChunkProgress(std::span<const ValuePair> pairs, size_t chunks, Progress* progress)
      : chunks_(chunks), progress_(progress) {
    for (const ValuePair& pair : pairs) total_bytes_ += size_bytes(*pair.a) + size_bytes(*pair.b);
  }
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
  uint64_t total_bytes_ = 0;
  std::atomic<uint64_t> done_{0};
  std::mutex mutex_;
};

}  // namespace

Result<std::vector<ValueDifference>> compare_values(std::span<const ValuePair> pairs,
                                                    const Codec& floats,
                                                    const CompareOptions& options) {
  std::vector<Job> jobs;
  size_t chunks = 0;
  for (const ValuePair& pair : pairs) {
    CKPT_ASSIGN(Job job, make_job(pair, floats, chunks));
    chunks += job.chunks;
    jobs.push_back(std::move(job));
  }
  std::vector<ValueDifference> by_chunk(chunks);
  ScratchPool pool;
  ChunkProgress progress(pairs, chunks, options.progress);
  const auto work = [&](size_t index) -> Status {
    if (options.interrupted != nullptr && *options.interrupted) {
      return fail(ErrorCode::kInterrupted, "interrupted");
    }
    const auto after = std::upper_bound(
        jobs.begin(), jobs.end(), index,
        [](size_t chunk, const Job& job) { return chunk < job.first_chunk + job.chunks; });
    std::unique_ptr<Scratch> scratch = pool.take();
    CKPT_TRY(compare_chunk(*after, index - after->first_chunk, *scratch, by_chunk[index]));
    pool.give(std::move(scratch));
    progress.add_chunk();
    return {};
  };
  CKPT_TRY(for_each_parallel(chunks, thread_count(jobs, options), work));
  std::vector<ValueDifference> out(pairs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    for (size_t chunk = 0; chunk < jobs[i].chunks; ++chunk) {
      combine(out[i], by_chunk[jobs[i].first_chunk + chunk]);
    }
  }
  return out;
}

}  // namespace ckpt
