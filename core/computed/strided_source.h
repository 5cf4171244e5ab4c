// Reads elements of a source in another order: a transposed matrix, every second row.
//
//   element (i, j, k) of the grid is at  first + i strides[0] + j strides[1] + k strides[2]
//   {2, 3} transposed:  sizes {1, 3, 2}, strides {0, 1, 3}
//     0 1 2 | 3 4 5   gives   0 3 | 1 4 | 2 5
//
// Nothing is kept in memory; elements are read on demand, several at a time. An element is the unit
// that moves, a value or an entire row of a part.
#pragma once

#include <array>
#include <string>

#include "core/computed/computed_source.h"
#include "core/io/bytes.h"
#include "core/model/checkpoint.h"

namespace ckpt {

struct StridedGrid {
  uint64_t first = 0;
  std::array<uint64_t, 3> sizes = {};    // outermost first, all above 0
  std::array<uint64_t, 3> strides = {};  // in elements
};

class StridedSource final : public ComputedSource {
 public:
  // Requires: every element of the grid is inside `from`.
  StridedSource(Slice from, uint64_t element_bytes, const StridedGrid& grid)
      : from_(std::move(from)), element_bytes_(element_bytes), grid_(grid) {}

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override;
  uint64_t size_bytes() const override;
  uint64_t own_scratch_bytes(uint64_t size_bytes) const override;
  const std::string& name() const override { return from_.source->name(); }
  static constexpr Kind kKind = Kind::kStrided;
  Kind kind() const override { return kKind; }
  void each_input(const TakeInput& take) const override { take(from_); }
  std::string operation() const override;
  const Slice& from() const { return from_; }
  uint64_t element_bytes() const { return element_bytes_; }
  const StridedGrid& grid() const { return grid_; }

 private:
  struct Rows {
    uint64_t outer, first, count;  // rows of one matrix in the grid
  };
  Status fill(const Rows& rows, std::span<std::byte> out) const;
  Status pick(const Rows& rows, uint64_t column, uint64_t columns, std::span<std::byte> out) const;

  Slice from_;
  uint64_t element_bytes_;
  StridedGrid grid_;
};

// Returns values of `tensor` in the order of `grid`, whose sizes become the shape. Fails:
// kUnsupported: the tensor is computed, or not stored value by value; kCorrupt: the grid exceeds
// the tensor.
Result<Tensor> take_grid(const Tensor& tensor, const StridedGrid& grid);

// Returns rows first, first + step, first + 2 step, ... of `tensor` as {rows, row_values}, for any
// codec. Fails: kUnsupported: the tensor is computed, or rows share an element of a part.
Result<Tensor> take_every(const Tensor& tensor, uint64_t first, uint64_t step);

}  // namespace ckpt
