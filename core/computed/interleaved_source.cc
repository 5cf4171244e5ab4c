#include "core/computed/interleaved_source.h"

#include <algorithm>
#include <cstring>

#include "core/base/arithmetic.h"
#include "core/computed/computed_source.h"
#include "core/computed/gather.h"
#include "core/computed/joined_source.h"
#include "core/model/findings.h"

namespace ckpt {
namespace {

// The number of bytes read from all lanes together, or of rows of a tensor: as many as are usually
// requested, because reordered lanes are read best in long runs.
constexpr uint64_t kTurnsBytes = 16 << 20;

template <size_t kBytes>
void copy_runs(const std::byte* from, uint64_t turns, std::byte* to, uint64_t step_bytes) {
  for (uint64_t i = 0; i < turns; ++i) std::memcpy(to + i * step_bytes, from + i * kBytes, kBytes);
}

void copy_runs(uint64_t run_bytes, const std::byte* from, uint64_t turns, std::byte* to,
               uint64_t step_bytes) {
  if (run_bytes == 2) return copy_runs<2>(from, turns, to, step_bytes);
  if (run_bytes == 4) return copy_runs<4>(from, turns, to, step_bytes);
  for (uint64_t i = 0; i < turns; ++i) {
    std::memcpy(to + i * step_bytes, from + i * run_bytes, run_bytes);
  }
}

class InterleavedSource final : public ComputedSource {
 public:
  struct Run {
    Slice from;
    uint64_t size_bytes;
  };
  explicit InterleavedSource(std::vector<Run> runs) : runs_(std::move(runs)) {
    for (const Run& run : runs_) turn_bytes_ += run.size_bytes;
  }

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    const RowSize size{turn_bytes_, std::max<uint64_t>(kTurnsBytes / turn_bytes_, 1)};
    return read_rows(offset_bytes, out, size,
                     [&](uint64_t turn, uint64_t count, auto take) -> Status {
                       const PooledArray<std::byte> interleaved(count * turn_bytes_);
                       CKPT_TRY(fill(turn, interleaved.span()));
                       take(interleaved.bytes());
                       return {};
                     });
  }
  uint64_t size_bytes() const override {
    return runs_[0].from.size_bytes / runs_[0].size_bytes * turn_bytes_;
  }
  uint64_t own_scratch_bytes(uint64_t size_bytes) const override {
    const uint64_t largest = std::max(kTurnsBytes, turn_bytes_);
    return 2 * std::min(size_bytes + 2 * turn_bytes_, largest);
  }
  const std::string& name() const override { return runs_[0].from.source->name(); }
  Kind kind() const override { return Kind::kInterleaved; }
  void each_input(const TakeInput& take) const override {
    for (const Run& run : runs_) take(run.from);
  }
  std::string operation() const override {
    std::string out;
    for (const Run& run : runs_) out += fmt::format("{} ", run.size_bytes);
    return out;
  }

 private:
  // Fills `out` with complete turns from `first` on.
  Status fill(uint64_t first, std::span<std::byte> out) const {
    const uint64_t turns = out.size() / turn_bytes_;
    uint64_t at = 0;
    for (const Run& run : runs_) {
      const PooledArray<std::byte> array(turns * run.size_bytes);
      const auto lane = array.span();
      CKPT_TRY(run.from.source->read(run.from.offset_bytes + first * run.size_bytes, lane));
      copy_runs(run.size_bytes, lane.data(), turns, out.data() + at, turn_bytes_);
      at += run.size_bytes;
    }
    return {};
  }

  std::vector<Run> runs_;
  uint64_t turn_bytes_ = 0;
};

class RepackedPart final : public ComputedSource {
 public:
  RepackedPart(Tensor tensor, const Codec& codec, size_t part)
      : tensor_(std::move(tensor)),
        codec_(codec),
        part_(part),
        slices_(tensor_.stored().parts[0]),
        repack_(find_repack(*tensor_.codec, codec)) {
    CKPT_CHECK(repack_ != nullptr && tensor_.codec->parts.size() == 1);
  }

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    const RowSize size{bytes_of(codec_, part_, 1),
                       std::max<uint64_t>(kTurnsBytes / bytes_of(*tensor_.codec, 0, 1), 1)};
    std::vector<std::byte> made;
    return read_rows(offset_bytes, out, size,
                     [&](uint64_t row, uint64_t count, auto take) -> Status {
                       CKPT_TRY(move_rows(row, count, made));
                       take(made);
                       return {};
                     });
  }
  uint64_t size_bytes() const override { return bytes_of(codec_, part_, tensor_.rows()); }
  // Counts the bytes to read, and the parts made from them, for the requested rows.
  uint64_t own_scratch_bytes(uint64_t size_bytes) const override {
    const uint64_t row_bytes = bytes_of(*tensor_.codec, 0, 1);
    const uint64_t rows = divide_up(size_bytes, bytes_of(codec_, part_, 1)) + 1;
    return 3 * std::min(rows * row_bytes, std::max(kTurnsBytes, row_bytes));
  }
  const std::string& name() const override { return tensor_.name; }
  Kind kind() const override { return Kind::kRepacked; }
  void each_input(const TakeInput& take) const override { each_slice(tensor_, take); }
  std::string operation() const override {
    return fmt::format("{} {} {}", described(tensor_), codec_.name, part_);
  }

 private:
  uint64_t bytes_of(const Codec& codec, size_t part, uint64_t rows) const {
    return part_shape(codec.parts[part], rows, tensor_.row_values()).size_bytes;
  }

  Status move_rows(uint64_t first, uint64_t rows, std::vector<std::byte>& made) const {
    GatherBuffers buffers(BufferPool::shared());
    const uint64_t begin = bytes_of(*tensor_.codec, 0, first);
    CKPT_ASSIGN(const std::span<const std::byte> from,
                gather(slices_, begin, bytes_of(*tensor_.codec, 0, rows), buffers));
    std::vector<std::vector<std::byte>> parts;
    for (size_t i = 0; i < codec_.parts.size(); ++i) parts.emplace_back(bytes_of(codec_, i, rows));
    const std::vector<std::span<std::byte>> views(parts.begin(), parts.end());
    const uint64_t moved = repack_->move(std::span(&from, 1), rows, tensor_.row_values(), views);
    if (moved != rows) {
      return corrupt("tensor '{}': row {} has {}", tensor_.name, first + moved, repack_->refused);
    }
    made = std::move(parts[part_]);
    return {};
  }

  Tensor tensor_;
  const Codec& codec_;
  size_t part_;
  SliceIndex slices_;
  const Repack* repack_;
};

Result<InterleavedSource::Run> run_of(const InterleavedLane& lane, const Codec& codec) {
  const Tensor& tensor = lane.tensor;
  const bool is_whole = tensor.is_stored() && tensor.codec == &codec && codec.parts.size() == 1 &&
                        codec.parts[0].tile_rows == 1 &&
                        codec.parts[0].tile_values == codec.block_values;
  if (!is_whole || lane.run_values == 0 || lane.run_values % codec.block_values != 0) {
    return unsupported(
        "tensor '{}', stored as {}, cannot be joined with others {} values at a time", tensor.name,
        tensor.codec->name, lane.run_values);
  }
  const uint64_t run_bytes =
      lane.run_values / codec.block_values * size_bytes(codec.parts[0].dtype);
  return InterleavedSource::Run{joined(tensor.stored().parts[0]), run_bytes};
}

}  // namespace

Result<Tensor> interleave(const std::vector<InterleavedLane>& lanes, std::vector<uint64_t> shape) {
  CKPT_CHECK(!lanes.empty());
  const Tensor& head = lanes[0].tensor;
  std::vector<InterleavedSource::Run> runs;
  uint64_t values = 0;
  for (const InterleavedLane& lane : lanes) {
    CKPT_ASSIGN(runs.emplace_back(), run_of(lane, *head.codec));
    const uint64_t turns = head.values() / lanes[0].run_values;
    values += lane.tensor.values();
    if (turns * lane.run_values == lane.tensor.values()) continue;
    return corrupt("tensor '{}' has {} values; expected {} x {}", lane.tensor.name,
                   lane.tensor.values(), turns, lane.run_values);
  }
  const auto wanted = product(shape);
  if (!wanted || *wanted != values) {
    return corrupt("tensor '{}' and others have {} values; expected [{}]", head.name, values,
                   fmt::join(shape, ", "));
  }
  const auto source = std::make_shared<const InterleavedSource>(std::move(runs));
  Tensor out = head;
  out.shape = std::move(shape);
  CKPT_TRY(in(head.name, check_shape(out.shape, *out.codec)));
  out.origin = Stored{{{Slice{source, 0, source->size_bytes()}}}};
  return out;
}

SharedSource repacked_part(const Tensor& tensor, const Codec& codec, size_t part) {
  return std::make_shared<const RepackedPart>(tensor, codec, part);
}

}  // namespace ckpt
