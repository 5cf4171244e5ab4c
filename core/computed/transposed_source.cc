#include "core/computed/transposed_source.h"

#include <algorithm>
#include <cstring>

#include "core/base/arithmetic.h"

namespace ckpt {
namespace {

constexpr uint64_t kTransposedBytes = 8 << 20;  // bytes of the result per step
constexpr uint64_t kStoredBytes = 1 << 20;  // bytes to read and decode per step

// `in` is rows x columns; element (row, column) is stored at out[column * out_columns + row].
struct Turn {
  uint64_t rows, columns, out_columns;
};

void turn(std::span<const float> in, const Turn& shape, float* out) {
  constexpr uint64_t kTile = 16;  // floats per cache line
  for (uint64_t row = 0; row < shape.rows; row += kTile) {
    const uint64_t count = std::min(kTile, shape.rows - row);
    for (uint64_t column = 0; column < shape.columns; ++column) {
      float* to = out + column * shape.out_columns + row;
      const float* from = in.data() + row * shape.columns + column;
      for (uint64_t i = 0; i < count; ++i) to[i] = from[i * shape.columns];
    }
  }
}

}  // namespace

bool TransposedSource::takes(const Tensor& tensor) {
  const bool is_stack =
      tensor.is_stored() && tensor.shape.size() == 3 && tensor.codec->decode != nullptr;
  return is_stack && tensor.values() != 0 && tensor.codec->band_rows == 1 &&
         std::ranges::all_of(tensor.codec->parts, [&](const PartRule& rule) {
           return rule.tile_rows == 1 && rule.tile_values != 0 &&
                  tensor.codec->block_values % rule.tile_values == 0;
         });
}

TransposedSource::TransposedSource(Tensor tensor) : tensor_(std::move(tensor)) {
  CKPT_CHECK(takes(tensor_));
  for (const std::vector<Slice>& slices : tensor_.stored().parts) parts_.emplace_back(slices);
}

// Decodes values of the window, in out.size() / window.count rows of its matrix from first_row on.
Status TransposedSource::decode(const Window& window, uint64_t first_row,
                                std::span<float> out) const {
  const uint64_t rows = out.size() / window.count;
  const uint64_t row = window.matrix * tensor_.shape[1] + first_row;
  std::vector<PooledArray<std::byte>> taken;
  std::vector<std::span<const std::byte>> views;
  GatherBuffers buffers(BufferPool::shared());
  for (size_t i = 0; i < parts_.size(); ++i) {
    const PartRule& rule = tensor_.codec->parts[i];
    const uint64_t row_bytes = part_shape(rule, 1, tensor_.shape[2]).size_bytes;
    const uint64_t skipped_bytes = part_shape(rule, 1, window.first).size_bytes;
    const uint64_t window_bytes = part_shape(rule, 1, window.count).size_bytes;
    CKPT_ASSIGN(const auto bytes, gather(parts_[i], row * row_bytes, rows * row_bytes, buffers));
    const std::span<std::byte> to = taken.emplace_back(rows * window_bytes).span();
    for (uint64_t j = 0; j < rows; ++j) {
      std::memcpy(to.data() + j * window_bytes, bytes.data() + j * row_bytes + skipped_bytes,
                  window_bytes);
    }
    views.emplace_back(to);
  }
  tensor_.codec->decode(views, {out, window.count});
  return {};
}

// Counts complete blocks of columns, and memory to read, split and decode some of them.
uint64_t TransposedSource::own_scratch_bytes(uint64_t size_bytes) const {
  const uint64_t block_bytes = tensor_.codec->block_values * tensor_.shape[1] * sizeof(float);
  const uint64_t transposed =
      std::min(size_bytes + 2 * block_bytes, std::max(kTransposedBytes, block_bytes));
  return transposed + std::min(transposed, 2 * kStoredBytes) + 2 * kStoredBytes;
}

Status TransposedSource::fill(const Window& window, std::span<float> out) const {
  const uint64_t rows = tensor_.shape[1];
  uint64_t row_bytes = 0;
  for (const PartRule& rule : tensor_.codec->parts) {
    row_bytes += part_shape(rule, 1, tensor_.shape[2]).size_bytes;
  }
  const uint64_t at_a_time = std::max<uint64_t>(kStoredBytes / row_bytes, 1);
  for (uint64_t first = 0; first < rows; first += at_a_time) {
    const uint64_t count = std::min(at_a_time, rows - first);
    const PooledArray<float> values(count * window.count);
    CKPT_TRY(decode(window, first, values.span()));
    turn(values.span(), {count, window.count, rows}, out.data() + first);
  }
  return {};
}

Status TransposedSource::read(uint64_t offset_bytes, std::span<std::byte> out) const {
  CKPT_TRY(check_range(offset_bytes, out.size()));
  const uint64_t columns = tensor_.shape[2];  // rows of the result
  const uint64_t row_bytes = tensor_.shape[1] * sizeof(float);
  const uint64_t block = tensor_.codec->block_values;
  const uint64_t at_a_time = std::max(kTransposedBytes / row_bytes / block, uint64_t{1}) * block;
  while (!out.empty()) {
    const uint64_t row = offset_bytes / row_bytes;
    const uint64_t column = row % columns;
    const uint64_t first = column - column % block;
    const uint64_t skipped_bytes = offset_bytes - (row - column + first) * row_bytes;
    const uint64_t wanted = round_up(divide_up(skipped_bytes + out.size(), row_bytes), block);
    const Window window{row / columns, first, std::min({wanted, at_a_time, columns - first})};
    const PooledArray<float> transposed(window.count * tensor_.shape[1]);
    CKPT_TRY(fill(window, transposed.span()));
    take_window(transposed.bytes().subspan(skipped_bytes), offset_bytes, out);
  }
  return {};
}

}  // namespace ckpt
