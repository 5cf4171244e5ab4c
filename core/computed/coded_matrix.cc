#include "core/computed/coded_matrix.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/arithmetic.h"
#include "core/base/sha256.h"
#include "core/model/findings.h"
#include "core/model/float_convert.h"

namespace ckpt {
namespace {

constexpr uint64_t kCodedValuesAtATime = uint64_t{1} << 20;

float scale_value(Dtype dtype, const std::byte* at) {
  if (dtype == Dtype::kF8E4M3) return float_from_e4m3(static_cast<uint8_t>(*at));
  if (dtype == Dtype::kF8E8M0) return float_from_e8m0(static_cast<uint8_t>(*at));
  if (dtype == Dtype::kF32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, at, sizeof half);
  return dtype == Dtype::kF16 ? float_from_f16(half) : float_from_bf16(half);
}

// Bytes of lines [first, first + count): `size` bytes from `begin` on in each line.
struct Rectangle {
  uint64_t first, count, begin, size;
};

Status read_rectangle(const Slice& from, uint64_t line_bytes, const Rectangle& part,
                      std::vector<std::byte>& out) {
  out.resize(part.count * part.size);
  const uint64_t start = from.offset_bytes + part.first * line_bytes + part.begin;
  if (part.size == line_bytes) return from.source->read(start, out);
  for (uint64_t i = 0; i < part.count; ++i) {
    CKPT_TRY(from.source->read(start + i * line_bytes,
                               std::span(out).subspan(i * part.size, part.size)));
  }
  return {};
}

// The lines and numbers of a grid that contain rows [first, first + count) of the matrix.
struct Window {
  uint64_t outer_first, outer_count, inner_first, inner_count;
};

Window window_of(bool is_transposed, uint64_t first, uint64_t count, uint64_t columns) {
  if (is_transposed) return {0, columns, first, count};
  return {first, count, 0, columns};
}

uint64_t numbers_of_word(const CodeGrid& grid) { return uint64_t{grid.word_bytes} * 8 / grid.bits; }

// Reads the words of a window and finds numbers in them. Words along a line are read from the one
// with the first number on.
class CodeReader {
 public:
  CodeReader(const CodeGrid& grid, const Window& window) : grid_(grid), window_(window) {}

  Status read() {
    // The run that ends at a word boundary: at most eight words.
    const uint64_t run = grid_.keeps_to_words ? numbers_of_word(grid_) : 32;
    if (grid_.is_across) {
      first_number_ = window_.outer_first / run * run;
      const uint64_t first = grid_.words_of(first_number_);
      const uint64_t end_number =
          std::min(round_up(window_.outer_first + window_.outer_count, run), grid_.outer);
      const uint64_t end = grid_.words_of(end_number);
      line_bytes_ = window_.inner_count * grid_.word_bytes;
      return read_rectangle(
          grid_.bytes, grid_.line_bytes(),
          {first, end - first, window_.inner_first * grid_.word_bytes, line_bytes_}, bytes_);
    }
    first_number_ = window_.inner_first / run * run;
    const uint64_t begin = grid_.words_of(first_number_) * grid_.word_bytes;
    const uint64_t end_number = window_.inner_first + window_.inner_count;
    const uint64_t end =
        std::min(grid_.words_of(round_up(end_number, run)) * grid_.word_bytes, grid_.line_bytes());
    line_bytes_ = end - begin;
    return read_rectangle(grid_.bytes, grid_.line_bytes(),
                          {window_.outer_first, window_.outer_count, begin, line_bytes_}, bytes_);
  }

  // Returns the number at a row of the window and a column of the matrix.
  int32_t at(uint64_t row, uint64_t column) const {
    const uint32_t code = grid_.is_transposed ? number(column, row) : number(row, column);
    const bool is_negative = grid_.is_signed && (code >> (grid_.bits - 1)) != 0;
    return static_cast<int32_t>(code) - (is_negative ? 1 << grid_.bits : 0);
  }

 private:
  uint32_t number(uint64_t outer, uint64_t inner) const {
    const bool is_across = grid_.is_across;
    uint64_t place = is_across ? window_.outer_first + outer : window_.inner_first + inner;
    if (!is_across && grid_.bits == 4) place = place / 8 * 8 + grid_.places[place % 8];
    const uint64_t bit = bit_of(place - first_number_);
    uint32_t both = byte_at(outer, inner, bit / 8);
    if (bit % 8 + grid_.bits > 8) both |= byte_at(outer, inner, bit / 8 + 1) << 8;
    return both >> (bit % 8) & ((1u << grid_.bits) - 1);
  }

  uint64_t bit_of(uint64_t number) const {
    if (!grid_.keeps_to_words) return number * grid_.bits;
    const uint64_t of_word = numbers_of_word(grid_);
    return number / of_word * grid_.word_bytes * 8 + number % of_word * grid_.bits;
  }

  // Returns byte `byte` of the bit stream that contains the number.
  uint32_t byte_at(uint64_t outer, uint64_t inner, uint64_t byte) const {
    const uint64_t at = grid_.is_across ? byte / grid_.word_bytes * line_bytes_ +
                                              inner * grid_.word_bytes + byte % grid_.word_bytes
                                        : outer * line_bytes_ + byte;
    return static_cast<uint32_t>(bytes_[at]);
  }

  const CodeGrid& grid_;
  Window window_;
  std::vector<std::byte> bytes_;
  uint64_t line_bytes_ = 0;    // in `bytes_`
  uint64_t first_number_ = 0;  // first number in `bytes_`, along the axis of words
};

// The scales of rows [first, first + count), in rows of the grid, beginning with `first_row`.
struct Scales {
  std::vector<float> values;
  uint64_t first_row = 0;
};

Result<Scales> read_scales(const ScaleGrid& grid, uint64_t first, uint64_t count) {
  Scales out;
  out.first_row = first / grid.tile_rows;
  const uint64_t rows = (first + count - 1) / grid.tile_rows + 1 - out.first_row;
  const uint64_t element = ckpt::size_bytes(grid.dtype);
  const uint64_t line = (grid.is_transposed ? grid.rows : grid.columns) * element;
  const Rectangle part = grid.is_transposed
                             ? Rectangle{0, grid.columns, out.first_row * element, rows * element}
                             : Rectangle{out.first_row, rows, 0, line};
  std::vector<std::byte> bytes;
  CKPT_TRY(read_rectangle(grid.bytes, line, part, bytes));
  out.values.resize(rows * grid.columns);
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t column = 0; column < grid.columns; ++column) {
      const uint64_t at = grid.is_transposed ? column * rows + row : row * grid.columns + column;
      out.values[row * grid.columns + column] =
          scale_value(grid.dtype, bytes.data() + at * element) * grid.factor;
    }
  }
  return out;
}

std::vector<uint32_t> groups_of(const CodedMatrix& matrix) {
  if (matrix.groups != nullptr) return *matrix.groups;
  std::vector<uint32_t> out(matrix.columns);
  for (uint64_t k = 0; k < matrix.columns; ++k) {
    out[k] = static_cast<uint32_t>(k / matrix.scales.tile_columns);
  }
  return out;
}

float rounded_to(Dtype dtype, float value) {
  if (dtype == Dtype::kBF16) return float_from_bf16(bf16_from_float(value));
  return dtype == Dtype::kF16 ? float_from_f16(f16_from_float(value)) : value;
}

// Adds to each value of a row the bias of its group.
void add_biases(std::span<float> values, const std::vector<uint32_t>& groups, const float* biases,
                Dtype dtype) {
  for (size_t k = 0; k < values.size(); ++k) {
    values[k] = rounded_to(dtype, rounded_to(dtype, values[k]) + biases[groups[k]]);
  }
}

// Applies factor and addend. Skips adding 0, which would turn -0 into 0.
void finish_row(std::span<float> values, const CodedMatrix& matrix) {
  for (float& value : values) {
    if (matrix.factor != 1) value *= matrix.factor;
    if (matrix.addend != 0) value += matrix.addend;
  }
}

}  // namespace

uint64_t CodeGrid::words_of(uint64_t numbers) const {
  return keeps_to_words ? divide_up(numbers, numbers_of_word(*this))
                        : divide_up(numbers * bits, uint64_t{word_bytes} * 8);
}

uint64_t CodeGrid::line_bytes() const { return (is_across ? inner : words_of(inner)) * word_bytes; }

uint64_t CodeGrid::size_bytes() const {
  return (is_across ? words_of(outer) : outer) * line_bytes();
}

CodedSource::CodedSource(std::string name, CodedMatrix matrix)
    : name_(std::move(name)), matrix_(std::move(matrix)) {
  CKPT_CHECK(matrix_.codes.rows() == matrix_.rows && matrix_.codes.columns() == matrix_.columns);
  CKPT_CHECK(matrix_.codes.bits <= 8 &&
             matrix_.codes.size_bytes() == matrix_.codes.bytes.size_bytes);
  CKPT_CHECK(matrix_.zeros.size_bytes() == matrix_.zeros.bytes.size_bytes);
  CKPT_CHECK(!matrix_.has_zeros() || (matrix_.zeros.rows() == matrix_.scales.rows &&
                                      matrix_.zeros.columns() == matrix_.scales.columns));
}

Status CodedSource::decode_rows(uint64_t first, uint64_t count, std::span<float> out) const {
  const CodedMatrix& matrix = matrix_;
  CodeReader codes(matrix.codes,
                   window_of(matrix.codes.is_transposed, first, count, matrix.columns));
  CKPT_TRY(codes.read());
  CKPT_ASSIGN(const Scales scales, read_scales(matrix.scales, first, count));
  Scales biases;
  if (matrix.has_biases()) CKPT_SET(biases, read_scales(matrix.biases, first, count));
  const uint64_t scale_rows = scales.values.size() / matrix.scales.columns;
  CodeReader zeros(matrix.zeros, window_of(matrix.zeros.is_transposed, scales.first_row, scale_rows,
                                           matrix.zeros.columns()));
  if (matrix.has_zeros()) CKPT_TRY(zeros.read());
  const std::vector<uint32_t> groups = groups_of(matrix);
  std::vector<float> row_zeros(matrix.scales.columns, static_cast<float>(matrix.zero));
  for (uint64_t row = 0; row < count; ++row) {
    const uint64_t scale_row = (first + row) / matrix.scales.tile_rows - scales.first_row;
    const float* row_scales = scales.values.data() + scale_row * matrix.scales.columns;
    for (uint64_t g = 0; matrix.has_zeros() && g < row_zeros.size(); ++g) {
      row_zeros[g] = static_cast<float>(zeros.at(scale_row, g) + matrix.zero);
    }
    float* values = out.data() + row * matrix.columns;
    for (uint64_t k = 0; k < matrix.columns; ++k) {
      const int32_t code = codes.at(row, k);
      const float number =
          matrix.table ? (*matrix.table)[static_cast<size_t>(code)] : static_cast<float>(code);
      const float moved = number - row_zeros[groups[k]];
      const float scale = row_scales[groups[k]];
      values[k] = matrix.divides ? moved / scale : moved * scale;
    }
    if (matrix.has_biases()) {
      add_biases({values, matrix.columns}, groups,
                 biases.values.data() + scale_row * matrix.scales.columns, matrix.biases.dtype);
    }
    finish_row({values, matrix.columns}, matrix);
  }
  return {};
}

// Counts floats for some rows, and the bytes that they are decoded from.
void CodedSource::each_input(const TakeInput& take) const {
  take(matrix_.codes.bytes);
  if (matrix_.has_zeros()) take(matrix_.zeros.bytes);
  take(matrix_.scales.bytes);
  if (matrix_.has_biases()) take(matrix_.biases.bytes);
}

std::string CodedSource::operation() const {
  const auto grid = [](const CodeGrid& codes) {
    return fmt::format("codes {} {} {} {} {:d} {:d} {:d} {:d} {} ", codes.outer, codes.inner,
                       codes.bits, codes.word_bytes, codes.is_across, codes.is_transposed,
                       codes.is_signed, codes.keeps_to_words, fmt::join(codes.places, " "));
  };
  const auto values = [](const auto& shared) {
    return shared == nullptr ? std::string("none") : sha256_of(std::as_bytes(std::span(*shared)));
  };
  const ScaleGrid& scales = matrix_.scales;
  const bool has_biases = matrix_.has_biases();
  return fmt::format("{} {} {} {:d} {:08x} {:08x} ", matrix_.rows, matrix_.columns, matrix_.zero,
                     matrix_.divides, std::bit_cast<uint32_t>(matrix_.factor),
                     std::bit_cast<uint32_t>(matrix_.addend)) +
         grid(matrix_.codes) + grid(matrix_.zeros) +
         fmt::format("scales {} {} {} {:d} {} {} {:08x} table {} groups {}",
                     static_cast<unsigned>(scales.dtype), scales.rows, scales.columns,
                     scales.is_transposed, scales.tile_rows, scales.tile_columns,
                     std::bit_cast<uint32_t>(scales.factor), values(matrix_.table),
                     values(matrix_.groups)) +
         (has_biases ? fmt::format(" biases {}", static_cast<unsigned>(matrix_.biases.dtype)) : "");
}

uint64_t CodedSource::own_scratch_bytes(uint64_t size_bytes) const {
  const uint64_t row_bytes = matrix_.columns * sizeof(float);
  const uint64_t most = std::max(kCodedValuesAtATime * sizeof(float), row_bytes);
  return 2 * std::min(size_bytes + 2 * row_bytes, most);
}

Status CodedSource::read(uint64_t offset_bytes, std::span<std::byte> out) const {
  const RowSize size{matrix_.columns * sizeof(float),
                     std::max<uint64_t>(kCodedValuesAtATime / matrix_.columns, 1)};
  return read_rows(offset_bytes, out, size, [&](uint64_t row, uint64_t count, auto take) -> Status {
    const PooledArray<float> values(count * matrix_.columns);
    CKPT_TRY(decode_rows(row, count, values.span()));
    take(values.bytes());
    return {};
  });
}

}  // namespace ckpt
