#include "formats/chunk_grid.h"

#include <algorithm>
#include <optional>

#include "core/base/arithmetic.h"
#include "core/computed/interleaved_source.h"
#include "core/computed/strided_source.h"

namespace ckpt {
namespace {


using Sizes = std::vector<uint64_t>;
using Chunks = std::vector<TensorChunk>;

// A part of a tensor, from `first` up to and without `end` on each axis.
struct Box {
  Sizes first, end;
  uint64_t extent(size_t axis) const { return end[axis] - first[axis]; }
  Sizes shape() const {
    Sizes out;
    for (size_t axis = 0; axis < end.size(); ++axis) out.push_back(extent(axis));
    return out;
  }
};

uint64_t end_of(const TensorChunk& chunk, size_t axis) {
  return chunk.offsets[axis] + chunk.sizes[axis];
}

std::string shown(const TensorChunk& chunk) {
  return fmt::format("[{}] at [{}]", fmt::join(chunk.sizes, ", "), fmt::join(chunk.offsets, ", "));
}

Status check_chunk(const Tensor& like, const TensorChunk& chunk, uint64_t value_bytes) {
  const size_t axes = like.shape.size();
  bool is_inside = chunk.offsets.size() == axes && chunk.sizes.size() == axes;
  for (size_t axis = 0; is_inside && axis < axes; ++axis) {
    const auto end = add(chunk.offsets[axis], chunk.sizes[axis]);
    is_inside = end && *end <= like.shape[axis];
  }
  if (!is_inside) {
    return corrupt("a chunk {} leaves the shape [{}]", shown(chunk), fmt::join(like.shape, ", "));
  }
  const auto values = product(chunk.sizes);
  if (values && multiply(*values, value_bytes) == chunk.bytes.size_bytes) return {};
  return corrupt("a chunk {} of {} bytes; expected {} a value", shown(chunk),
                 chunk.bytes.size_bytes, value_bytes);
}

// Runs of chunks that a cut across `axis` separates; requires that they are sorted by their place
// on it.
std::vector<Chunks> divide(const Chunks& chunks, size_t axis) {
  std::vector<Chunks> out;
  uint64_t end = 0;
  for (const TensorChunk& chunk : chunks) {
    if (out.empty() || chunk.offsets[axis] >= end) out.emplace_back();
    out.back().push_back(chunk);
    end = std::max(end, end_of(chunk, axis));
  }
  return out;
}

class ChunkJoiner {
 public:
  explicit ChunkJoiner(const Tensor& like) : like_(like) {}

  Result<Tensor> join(const Box& box, Chunks chunks) const {
    for (size_t axis = 0; axis < box.end.size(); ++axis) {
      std::ranges::stable_sort(chunks, {}, [&](const auto& each) { return each.offsets[axis]; });
      const std::vector<Chunks> runs = divide(chunks, axis);
      CKPT_TRY(check_covered(runs, axis, box));
      if (runs.size() > 1) return join_runs(runs, axis, box);
    }
    if (chunks.size() > 1) return overlap(chunks);
    Tensor out = like_;
    out.shape = box.shape();
    out.origin = Stored{{{chunks[0].bytes}}};
    return out;
  }

 private:
  Result<Tensor> join_runs(const std::vector<Chunks>& runs, size_t axis, const Box& box) const {
    std::vector<InterleavedLane> lanes;
    uint64_t outer = 1, inner = 1;
    for (size_t i = 0; i < box.end.size(); ++i) (i < axis ? outer : inner) *= box.extent(i);
    inner /= box.extent(axis);
    for (const Chunks& run : runs) {
      Box side = box;
      side.first[axis] = run.front().offsets[axis];
      side.end[axis] = 0;
      for (const TensorChunk& chunk : run) {
        side.end[axis] = std::max(side.end[axis], end_of(chunk, axis));
      }
      CKPT_ASSIGN(Tensor part, join(side, run));
      lanes.push_back({std::move(part), side.extent(axis) * inner});
    }
    if (outer > 1) return interleave(lanes, box.shape());
    std::vector<Slice> slices;
    for (const InterleavedLane& lane : lanes) {
      std::ranges::copy(lane.tensor.stored().parts[0], std::back_inserter(slices));
    }
    Tensor out = like_;
    out.shape = box.shape();
    out.origin = Stored{{merged(std::move(slices))}};
    return out;
  }

  Status check_covered(const std::vector<Chunks>& runs, size_t axis, const Box& box) const {
    uint64_t end = box.first[axis];
    for (const Chunks& run : runs) {
      if (run.front().offsets[axis] > end) return hole(axis, end, run.front().offsets[axis]);
      for (const TensorChunk& chunk : run) end = std::max(end, end_of(chunk, axis));
    }
    if (end == box.end[axis]) return {};
    return hole(axis, end, box.end[axis]);
  }

  Failure hole(size_t axis, uint64_t first, uint64_t end) const {
    return corrupt("no chunk has {} {} to {}; expected chunks that cover [{}]",
                   axis == 0 ? std::string("rows") : fmt::format("places of axis {}", axis), first,
                   end - 1, fmt::join(like_.shape, ", "));
  }

  static Failure overlap(const Chunks& chunks) {
    for (const TensorChunk& a : chunks) {
      for (const TensorChunk& b : chunks) {
        bool meet = &a < &b;
        for (size_t axis = 0; meet && axis < a.sizes.size(); ++axis) {
          meet = a.offsets[axis] < end_of(b, axis) && b.offsets[axis] < end_of(a, axis);
        }
        if (meet) return corrupt("chunks {} and {} overlap", shown(a), shown(b));
      }
    }
    return unsupported("{} chunks that no cut divides, such as {} and {}", chunks.size(),
                       shown(chunks[0]), shown(chunks[1]));
  }

  const Tensor& like_;
};

// Replicas of a chunk are one.
void leave_one_of_each(Chunks& chunks) {
  const auto place = [](const TensorChunk& chunk) { return std::tie(chunk.offsets, chunk.sizes); };
  std::ranges::stable_sort(chunks, {}, place);
  const auto twice = std::ranges::unique(chunks, {}, place);
  chunks.erase(twice.begin(), twice.end());
}

}  // namespace

Result<Tensor> from_chunks(Tensor like, std::vector<TensorChunk> chunks) {
  CKPT_TRY(check_shape(like.shape, *like.codec));
  const uint64_t value_bytes = size_bytes(like.codec->parts[0].dtype);
  for (const TensorChunk& chunk : chunks) CKPT_TRY(check_chunk(like, chunk, value_bytes));
  std::erase_if(chunks, [](const TensorChunk& chunk) { return chunk.bytes.size_bytes == 0; });
  if (std::ranges::count(like.shape, 0) != 0) {
    like.origin = Stored{{{entire(make_blob(like.name, {}))}}};
    return like;
  }
  if (chunks.empty()) return corrupt("no chunk has its values");
  leave_one_of_each(chunks);
  const Box box{Sizes(like.shape.size(), 0), like.shape};
  return ChunkJoiner(like).join(box, std::move(chunks));
}

Result<Slice> in_row_order(const TorchView& view) {
  if (view.is_contiguous()) return view.bytes;
  const auto& [dtype, shape, strides, bytes] = view;
  // Axes that lie as rows do are one.
  Sizes sizes, steps;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (!sizes.empty() && multiply(shape[axis], strides[axis]) == steps.back()) {
      sizes.back() *= shape[axis];
      steps.back() = strides[axis];
    } else {
      sizes.push_back(shape[axis]);
      steps.push_back(strides[axis]);
    }
  }
  StridedGrid grid{0, {1, 1, 1}, {0, 0, 1}};
  if (sizes.size() > grid.sizes.size()) {
    return unsupported_hint("saving it again as tensor.contiguous()",
                            "[{}] lies with strides [{}]; expected rows that follow each other",
                            fmt::join(shape, ", "), fmt::join(strides, ", "));
  }
  if (sizes.empty() || (sizes.size() == 1 && steps[0] == 1)) return bytes;
  std::ranges::copy_backward(sizes, grid.sizes.end());
  std::ranges::copy_backward(steps, grid.strides.end());
  return entire(std::make_shared<const StridedSource>(bytes, size_bytes(dtype), grid));
}

}  // namespace ckpt
