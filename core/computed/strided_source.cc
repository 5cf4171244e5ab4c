#include "core/computed/strided_source.h"

#include <algorithm>
#include <cstring>

#include "core/base/arithmetic.h"
#include "core/computed/joined_source.h"

namespace ckpt {
namespace {

// The number of bytes that are read and reordered together.
constexpr uint64_t kSpanBytes = 4 << 20;

// Elements that are `step` elements apart.
template <class Byte>
struct Spread {
  Byte* at;
  uint64_t step;
};

template <size_t kBytes>
void copy_elements(Spread<const std::byte> from, uint64_t count, Spread<std::byte> to) {
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(to.at + i * to.step * kBytes, from.at + i * from.step * kBytes, kBytes);
  }
}

void copy_elements(uint64_t bytes, Spread<const std::byte> from, uint64_t count,
                   Spread<std::byte> to) {
  if (bytes == 2) return copy_elements<2>(from, count, to);
  if (bytes == 4) return copy_elements<4>(from, count, to);
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(to.at + i * to.step * bytes, from.at + i * from.step * bytes, bytes);
  }
}

Status check_stored(const Tensor& tensor) {
  if (tensor.is_stored()) return {};
  return unsupported_hint(
      "the earlier steps in a command of their own, into a folder",
      "tensor '{}': values that an earlier step computes cannot be put in another order",
      tensor.name);
}

// The end of the grid's last element; nullopt beyond 64 bits.
std::optional<uint64_t> end_of(const StridedGrid& grid) {
  std::optional<uint64_t> end = add(grid.first, 1);
  for (size_t axis = 0; axis < 3 && end; ++axis) {
    const auto span = multiply(grid.sizes[axis] - 1, grid.strides[axis]);
    end = span ? add(*end, *span) : std::nullopt;
  }
  return end;
}

}  // namespace

uint64_t StridedSource::size_bytes() const {
  return grid_.sizes[0] * grid_.sizes[1] * grid_.sizes[2] * element_bytes_;
}

// Reads columns [column, column + columns) of some rows with one read of everything between the
// first and the last of them.
Status StridedSource::pick(const Rows& rows, uint64_t column, uint64_t columns,
                           std::span<std::byte> out) const {
  const auto [outer_stride, row_stride, column_stride] = grid_.strides;
  const uint64_t begin =
      grid_.first + rows.outer * outer_stride + rows.first * row_stride + column * column_stride;
  const uint64_t span = (rows.count - 1) * row_stride + (columns - 1) * column_stride + 1;
  const PooledArray<std::byte> array(span * element_bytes_);
  const auto read = array.span();
  CKPT_TRY(from_.source->read(from_.offset_bytes + begin * element_bytes_, read));
  const uint64_t row_elements = grid_.sizes[2];
  if (columns >= rows.count) {
    for (uint64_t row = 0; row < rows.count; ++row) {
      copy_elements(element_bytes_,
                    {read.data() + row * row_stride * element_bytes_, column_stride}, columns,
                    {out.data() + (row * row_elements + column) * element_bytes_, 1});
    }
    return {};
  }
  for (uint64_t i = 0; i < columns; ++i) {
    copy_elements(element_bytes_, {read.data() + i * column_stride * element_bytes_, row_stride},
                  rows.count, {out.data() + (column + i) * element_bytes_, row_elements});
  }
  return {};
}

// Fills `out` with as many rows or columns at a time as a read of bounded size covers, or with
// single ones if most bytes between them are not requested.
Status StridedSource::fill(const Rows& rows, std::span<std::byte> out) const {
  const auto [outer_stride, row_stride, column_stride] = grid_.strides;
  const uint64_t columns = grid_.sizes[2];
  const bool is_by_column = row_stride <= column_stride;
  const uint64_t step = is_by_column ? column_stride : row_stride;
  const uint64_t run =
      is_by_column ? (rows.count - 1) * row_stride + 1 : (columns - 1) * column_stride + 1;
  const bool is_sparse = run < step / 4;
  const uint64_t at_a_time =
      is_sparse ? 1 : std::max<uint64_t>(kSpanBytes / (step * element_bytes_), 1);
  const uint64_t count = is_by_column ? columns : rows.count;
  for (uint64_t i = 0; i < count; i += at_a_time) {
    const uint64_t taken = std::min(at_a_time, count - i);
    if (is_by_column) {
      CKPT_TRY(pick(rows, i, taken, out));
      continue;
    }
    const uint64_t row_bytes = columns * element_bytes_;
    CKPT_TRY(pick({rows.outer, rows.first + i, taken}, 0, columns,
                  out.subspan(i * row_bytes, taken * row_bytes)));
  }
  return {};
}

std::string StridedSource::operation() const {
  return fmt::format("{} {} [{}] [{}]", element_bytes_, grid_.first, fmt::join(grid_.sizes, " "),
                     fmt::join(grid_.strides, " "));
}

uint64_t StridedSource::own_scratch_bytes(uint64_t size_bytes) const {
  const uint64_t row_bytes = grid_.sizes[2] * element_bytes_;
  return std::min(size_bytes + 2 * row_bytes, std::max(kSpanBytes, row_bytes)) + kSpanBytes;
}

Status StridedSource::read(uint64_t offset_bytes, std::span<std::byte> out) const {
  const uint64_t row_bytes = grid_.sizes[2] * element_bytes_;
  const RowSize size{row_bytes, std::max<uint64_t>(kSpanBytes / row_bytes, 1)};
  return read_rows(offset_bytes, out, size, [&](uint64_t row, uint64_t count, auto take) -> Status {
    const uint64_t first = row % grid_.sizes[1];
    const Rows rows{row / grid_.sizes[1], first, std::min(count, grid_.sizes[1] - first)};
    const PooledArray<std::byte> scratch(rows.count * row_bytes);
    CKPT_TRY(fill(rows, scratch.span()));
    take(scratch.bytes());
    return {};
  });
}

Result<Tensor> take_grid(const Tensor& tensor, const StridedGrid& grid) {
  CKPT_TRY(check_stored(tensor));
  const Codec& codec = *tensor.codec;
  if (codec.parts.size() != 1 || codec.block_values != 1) {
    return unsupported(
        "tensor '{}' is stored as {}; only plain numbers can be put in another order", tensor.name,
        codec.name);
  }
  const auto end = end_of(grid);
  if (!end || *end > tensor.values()) {
    return corrupt("tensor '{}' has shape [{}], which is too small", tensor.name,
                   fmt::join(tensor.shape, ", "));
  }
  Slice slice = joined(tensor.stored().parts[0]);
  const uint64_t element_bytes = ckpt::size_bytes(codec.parts[0].dtype);
  const auto source = std::make_shared<const StridedSource>(std::move(slice), element_bytes, grid);
  Tensor out = tensor;
  out.shape.assign(grid.sizes.begin(), grid.sizes.end());
  out.origin = Stored{{{Slice{source, 0, source->size_bytes()}}}};
  return out;
}

Result<Tensor> take_every(const Tensor& tensor, uint64_t first, uint64_t step) {
  CKPT_TRY(check_stored(tensor));
  CKPT_CHECK(step > 0);
  if (first >= tensor.rows()) {
    return corrupt("tensor '{}' has {} rows; expected more than {}", tensor.name, tensor.rows(),
                   first);
  }
  const uint64_t count = (tensor.rows() - first + step - 1) / step;
  Tensor out = tensor;
  Stored stored;
  for (size_t part = 0; part < tensor.codec->parts.size(); ++part) {
    const PartRule& rule = tensor.codec->parts[part];
    if (rule.tile_rows != 1) {
      return unsupported("tensor '{}': rows share a part of {}", tensor.name, tensor.codec->name);
    }
    Slice slice = joined(tensor.stored().parts[part]);
    const uint64_t row_bytes = part_size_bytes(tensor, part) / tensor.rows();
    const StridedGrid grid{first, {1, count, 1}, {0, step, 1}};
    const auto source = std::make_shared<const StridedSource>(std::move(slice), row_bytes, grid);
    stored.parts.push_back({Slice{source, 0, source->size_bytes()}});
  }
  out.shape = {count, tensor.row_values()};
  out.origin = std::move(stored);
  return out;
}

}  // namespace ckpt
