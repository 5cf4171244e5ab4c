// Finds how to-gguf reordered the values of a tensor in regular steps, and reverses that order.
#include <algorithm>
#include <functional>

#include "core/computed/decoded_source.h"
#include "transforms/from_gguf/rows.h"

namespace ckpt {
namespace {

// One axis of a grid: the distance between its elements in both tensors.
struct GridAxis {
  uint64_t size, folder_stride, gguf_stride;
};

// The axes with more than one element, in the order of the folder.
std::vector<GridAxis> axes_of(const StridedGrid& grid) {
  std::vector<GridAxis> out;
  uint64_t gguf_stride = 1;
  for (size_t i = grid.sizes.size(); i-- > 0;) {
    if (grid.sizes[i] > 1) out.push_back({grid.sizes[i], grid.strides[i], gguf_stride});
    gguf_stride *= grid.sizes[i];
  }
  std::ranges::stable_sort(out, std::greater(), &GridAxis::folder_stride);
  return out;
}

// Elements of a grid form runs in the folder's tensor: `run` elements in every `period`.
struct GridTurns {
  uint64_t first, run, period, turns;
};

std::optional<GridTurns> turns_of(const std::vector<GridAxis>& axes, uint64_t first,
                                  uint64_t elements) {
  GridTurns out{first, 1, elements, 1};
  size_t outer = axes.size();
  for (; outer > 0 && axes[outer - 1].folder_stride == out.run; --outer) {
    out.run *= axes[outer - 1].size;
  }
  if (outer == 0) return out;
  out.period = axes[outer - 1].folder_stride;
  for (; outer > 0; --outer) {
    if (axes[outer - 1].folder_stride != out.period * out.turns) return std::nullopt;
    out.turns *= axes[outer - 1].size;
  }
  return out.period * out.turns == elements ? std::optional(out) : std::nullopt;
}

bool is_in_order(const std::vector<GridAxis>& axes) {
  return std::ranges::is_sorted(axes, std::greater(), &GridAxis::gguf_stride);
}

// Puts the values of `from` from the order of the GGUF into that of the folder.
Result<Tensor> in_folder_order(const Tensor& from, const std::vector<GridAxis>& axes,
                               const Codec& f32) {
  const bool is_plain = from.codec->parts.size() == 1 && from.codec->block_values == 1;
  StridedGrid grid{0, {1, 1, 1}, {0, 0, 0}};
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = grid.sizes.size() - axes.size() + i;
    grid.sizes[axis] = axes[i].size;
    grid.strides[axis] = axes[i].gguf_stride;
  }
  return take_grid(is_plain ? from : stored_as_f32(from, f32), grid);
}

Failure no_turns(const Tensor& like) {
  return unsupported("tensor '{}': its values do not come from the file in turn", like.name);
}

}  // namespace

Result<GridMap> find_moved_grids(const std::vector<Tensor>& folder, const std::vector<Tensor>& made,
                                 std::vector<size_t>& wanted) {
  const FolderBytes places(folder);
  GridMap out;
  std::vector<size_t> others;
  for (const size_t number : wanted) {
    const auto* source = made_by<StridedSource>(made[number].stored_tensor().stored());
    if (source == nullptr) {  // rows in unchanged order
      others.push_back(number);
      continue;
    }
    const FolderBytes::Place* place = places.find(source->from());
    const bool is_whole = place != nullptr && source->from().offset_bytes == place->first_byte &&
                          source->from().size_bytes == place->end_byte - place->first_byte;
    if (!is_whole) {
      return unsupported("tensor '{}': its values are not those of one tensor of the folder",
                         made[number].name);
    }
    const Tensor& from = folder[place->tensor];
    const bool are_rows = source->element_bytes() * from.rows() == source->from().size_bytes;
    out[place->tensor].push_back({number, source->grid(), are_rows ? from.row_values() : 1});
  }
  wanted = std::move(others);
  return out;
}

Result<std::vector<InterleavedLane>> lanes_of(const Tensor& like,
                                              const std::vector<MovedGrid>& grids,
                                              const std::vector<const Tensor*>& found,
                                              const Codec& f32) {
  std::vector<MovedGrid> sorted = grids;
  std::ranges::sort(sorted, {}, [](const MovedGrid& moved) { return moved.grid.first; });
  std::vector<InterleavedLane> out;
  std::optional<GridTurns> head;
  uint64_t next = 0;
  for (const MovedGrid& moved : sorted) {
    const Tensor& from = *found[moved.gguf];
    const std::vector<GridAxis> axes = axes_of(moved.grid);
    const auto turns = turns_of(axes, moved.grid.first, like.values() / moved.element_values);
    if (!head) head = turns;
    if (!turns || turns->first != next || turns->period != head->period ||
        turns->turns != head->turns) {
      return no_turns(like);
    }
    next += turns->run;
    InterleavedLane lane{from, turns->run * moved.element_values};
    if (!is_in_order(axes)) {
      CKPT_ASSIGN(lane.tensor, in_folder_order(from, axes, f32));
    } else if (lane.run_values % from.codec->block_values != 0) {
      lane.tensor = stored_as_f32(from, f32);
    }
    out.push_back(std::move(lane));
  }
  if (!head || next != head->period) return no_turns(like);
  return out;
}

}  // namespace ckpt
