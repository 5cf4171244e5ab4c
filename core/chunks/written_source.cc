#include "core/chunks/written_source.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/chunks/error_feedback.h"
#include "core/chunks/recode_chunk.h"
#include "core/chunks/tasks.h"
#include "core/computed/computed_source.h"
#include "core/computed/gather.h"

namespace ckpt {
namespace {

constexpr uint64_t kValuesWritten = 64 << 10;  // per step, or one band

uint64_t rows_at_a_time(const Grain& grain) {
  const uint64_t band_values = std::max<uint64_t>(1, grain.band_rows * grain.row_values);
  return std::max<uint64_t>(1, kValuesWritten / band_values) * grain.band_rows;
}

// Reads rows of a tensor's source.
class RowsBehind {
 public:
  explicit RowsBehind(const Tensor& made) : from_(*made.recoded().from), grain_(ckpt::grain(made)) {
    for (const std::vector<Slice>& slices : from_.stored().parts) parts_.emplace_back(slices);
  }

  const Grain& grain() const { return grain_; }

  struct LoadedParts {
    std::vector<GatherBuffers> buffers;
    std::vector<std::span<const std::byte>> parts;
  };
  Result<LoadedParts> load(uint64_t first, uint64_t rows) const {
    LoadedParts out;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const PartRange range = part_range(from_.codec->parts[i], grain_, first, rows);
      GatherBuffers& buffers = out.buffers.emplace_back(BufferPool::shared());
      CKPT_ASSIGN(out.parts.emplace_back(),
                  in(fmt::format("tensor '{}'", from_.name),
                     gather(parts_[i], range.first_bytes, range.size_bytes, buffers)));
    }
    return out;
  }

 private:
  const Tensor& from_;
  Grain grain_;
  std::vector<SliceIndex> parts_;
};

// The floats that are encoded together.
class Strip {
 public:
  Strip(const Tensor& tensor, const Grain& grain) {
    scratch_.values = BufferPool::shared().take(strip_bytes(tensor, grain));
  }
  Strip(const Strip&) = delete;
  ~Strip() { BufferPool::shared().give(std::move(scratch_.values)); }
  RecodeScratch& scratch() { return scratch_; }

 private:
  RecodeScratch scratch_;
};

Status scan(const Tensor& tensor, Stats& stats) {
  const RowsBehind behind(tensor);
  const Grain& grain = behind.grain();
  Strip strip(tensor, grain);
  const uint64_t step = rows_at_a_time(grain);
  for (uint64_t row = 0; row < grain.rows; row += step) {
    const uint64_t rows = std::min(step, grain.rows - row);
    CKPT_ASSIGN(const auto loaded, behind.load(row, rows));
    CKPT_TRY(
        scan_chunk({tensor, grain, row, rows, loaded.parts, {}, false}, strip.scratch(), stats));
  }
  return {};
}

// Encodes all parts of a tensor.
class WrittenTensor {
 public:
  explicit WrittenTensor(const Tensor& tensor) : tensor_(tensor), behind_(tensor_) {
    const Recoded& made = tensor_.recoded();
    if (made.block_amax != nullptr) block_amax_.emplace(made.block_amax->stored().parts[0]);
  }
  WrittenTensor(const WrittenTensor&) = delete;

  const Tensor& tensor() const { return tensor_; }
  const Grain& grain() const { return behind_.grain(); }
  bool needs_scan() const { return ckpt::needs_scan(tensor_); }

  using Parts = std::vector<PooledArray<std::byte>>;
  // Requires: complete bands. Values that are not finite are allowed if the codec can hold them, as
  // in a direct conversion.
  Result<Parts> encode(uint64_t first, uint64_t rows) const {
    CKPT_ASSIGN(const Stats stats, this->stats());
    CKPT_ASSIGN(const FeedbackCache::Shared feedback, this->feedback());
    CKPT_ASSIGN(const auto loaded, behind_.load(first, rows));
    std::vector<float> block_amax;
    if (block_amax_) CKPT_SET(block_amax, load_block_amax(tensor_, *block_amax_, first, rows));
    Parts out;
    std::vector<std::span<std::byte>> views;
    for (const PartRule& rule : tensor_.codec->parts) {
      views.push_back(out.emplace_back(part_range(rule, grain(), first, rows).size_bytes).span());
    }
    Strip strip(tensor_, grain());
    CKPT_TRY(recode_chunk({tensor_, grain(), first, rows, loaded.parts, stats,
                           is_plain_float(*tensor_.codec), block_amax, feedback.get()},
                          strip.scratch(), views));
    return out;
  }

  // Counts the source rows, the same encoded, some floats, and memory per block and column.
  uint64_t scratch_bytes() const {
    const Recoded& made = tensor_.recoded();
    const uint64_t rows = std::min(rows_at_a_time(grain()), grain().rows);
    uint64_t out = strip_bytes(tensor_, grain()) + 2 * tensor_.row_values() * sizeof(float);
    for (const PartRule& rule : made.from->codec->parts) {
      out += 2 * part_range(rule, grain(), 0, rows).size_bytes;
    }
    for (const PartRule& rule : tensor_.codec->parts) {
      out += part_range(rule, grain(), 0, rows).size_bytes;
    }
    if (made.block_amax != nullptr) {
      out += 3 * (made.block_amax->values() / grain().rows) * rows * sizeof(float);
    }
    return out + (made.moments == nullptr ? 0 : 3 * made.moments->values() * sizeof(float));
  }

 private:
  // Finds the statistics once, as the engine does.
  Result<Stats> stats() const {
    const Recoded& made = tensor_.recoded();
    if (!needs_scan()) {
      Stats known = made.stats.value_or(Stats{});
      known.own_amax = known.amax;
      return known;
    }
    const std::lock_guard lock(mutex_);
    if (scanned_) return *scanned_;
    Stats all;
    CKPT_TRY(scan(tensor_, all));
    all.own_amax = all.amax;
    for (const auto& peer : made.peers) {
      Stats own;
      CKPT_TRY(scan(*peer, own));
      combine(all, own);
    }
    scanned_ = all;
    return all;
  }

  Result<FeedbackCache::Shared> feedback() const {
    const Tensor* moments = tensor_.recoded().moments.get();
    if (moments == nullptr) return FeedbackCache::Shared();
    const std::lock_guard lock(mutex_);
    if (feedback_ == nullptr) {
      CKPT_ASSIGN(ErrorFeedback made, make_error_feedback(*moments));
      feedback_ = std::make_shared<const ErrorFeedback>(std::move(made));
    }
    return feedback_;
  }

  const Tensor tensor_;
  RowsBehind behind_;
  std::optional<SliceIndex> block_amax_;
  mutable std::mutex mutex_;
  mutable std::optional<Stats> scanned_;
  mutable FeedbackCache::Shared feedback_;
};

class WrittenSource final : public ComputedSource {
 public:
  WrittenSource(std::shared_ptr<const WrittenTensor> of, size_t part)
      : of_(std::move(of)), part_(part) {}

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override;
  uint64_t size_bytes() const override { return part_size_bytes(of_->tensor(), part_); }
  uint64_t own_scratch_bytes(uint64_t) const override { return of_->scratch_bytes(); }
  const std::string& name() const override { return of_->tensor().name; }
  static constexpr Kind kKind = Kind::kWritten;
  Kind kind() const override { return kKind; }
  bool needs_scan() const { return of_->needs_scan(); }
  void each_input(const TakeInput& take) const override {
    for (const TensorBehind& behind : tensors_behind(of_->tensor().recoded())) {
      each_slice(behind.tensor->stored_tensor(), take);
    }
  }
  std::string operation() const override {
    return fmt::format("{} {}", part_, described(of_->tensor()));
  }

 private:
  std::shared_ptr<const WrittenTensor> of_;
  size_t part_;
};

// Reads a range. A part of the entire tensor is the same in every band.
Status WrittenSource::read(uint64_t offset_bytes, std::span<std::byte> out) const {
  CKPT_TRY(check_range(offset_bytes, out.size()));
  const Grain& grain = of_->grain();
  const PartRule& rule = of_->tensor().codec->parts[part_];
  if (rule.tile_rows == 0) {
    CKPT_ASSIGN(const auto parts, of_->encode(0, std::min<uint64_t>(grain.band_rows, grain.rows)));
    take_window(parts[part_].span().subspan(offset_bytes), offset_bytes, out);
    return {};
  }
  const uint64_t band_bytes = part_range(rule, grain, 0, grain.band_rows).size_bytes;
  while (!out.empty()) {
    const uint64_t first = offset_bytes / band_bytes * grain.band_rows;
    const uint64_t skipped_bytes = offset_bytes % band_bytes;
    const uint64_t wanted = (skipped_bytes + out.size() + band_bytes - 1) / band_bytes;
    const uint64_t rows =
        std::min({wanted * grain.band_rows, rows_at_a_time(grain), grain.rows - first});
    CKPT_ASSIGN(const auto parts, of_->encode(first, rows));
    take_window(parts[part_].span().subspan(skipped_bytes), offset_bytes, out);
  }
  return {};
}

}  // namespace

bool scans_when_read(const ByteSource& source) {
  const ComputedSource* computed = source.computed();
  if (computed == nullptr) return false;
  const auto* written = computed_as<WrittenSource>(source);
  bool found = written != nullptr && written->needs_scan();
  computed->each_input(
      [&](const Slice& input) { found = found || scans_when_read(*input.source); });
  return found;
}

Tensor stored_as_written(const Tensor& tensor) {
  if (tensor.is_stored()) return tensor;
  const auto written = std::make_shared<const WrittenTensor>(tensor);
  Tensor out = tensor;
  Stored stored;
  for (size_t part = 0; part < tensor.codec->parts.size(); ++part) {
    const auto source = std::make_shared<const WrittenSource>(written, part);
    stored.parts.push_back({Slice{source, 0, source->size_bytes()}});
  }
  out.origin = std::move(stored);
  return out;
}

}  // namespace ckpt
