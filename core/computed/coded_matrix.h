// A matrix of small codes with scales, in any packing order, read as F32.
//
//   value (n, k) = ((code (n, k) - zero (n, g)) x scale (n, g) + bias (n, g)) x factor + addend
//                                                          g = group of column k
//   code    an integer of `bits` bits, or its entry in a table
//   zero    one per row and group, or one for all
//
// Only the table and the groups are in memory; values are read and decoded on demand. Every
// operation is rounded to F32 once, in this order.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/computed/computed_source.h"
#include "core/io/bytes.h"
#include "core/model/dtype.h"

namespace ckpt {

// Integers of a few bits: `outer` lines of `inner` numbers each, as stored in a file. They are
// packed into little-endian words of `word_bytes`, which run along a line or across lines.
//
//   along a line     [outer, inner x bits / word]    word w of a line holds numbers of that line
//   across lines     [outer x bits / word, inner]    word row w holds numbers of several lines
struct CodeGrid {
  Slice bytes;
  uint64_t outer = 0, inner = 0;
  uint32_t bits = 4;  // at most 8
  uint32_t word_bytes = 4;
  bool is_across = false;
  bool is_transposed = false;   // a line is a column of the matrix, not a row
  bool is_signed = false;       // two's complement
  bool keeps_to_words = false;  // no number spans two words; unused bits are 0
  // For 4 bits along a line: the positions of eight consecutive numbers, in units of `bits`.
  std::array<uint8_t, 8> places = {0, 1, 2, 3, 4, 5, 6, 7};

  uint64_t rows() const { return is_transposed ? inner : outer; }
  uint64_t columns() const { return is_transposed ? outer : inner; }
  uint64_t words_of(uint64_t numbers) const;
  uint64_t line_bytes() const;  // of words, as stored
  uint64_t size_bytes() const;
};

// Floats, one per tile of the matrix.
struct ScaleGrid {
  Slice bytes;
  Dtype dtype = Dtype::kF32;  // F32, F16, BF16, F8_E4M3 or F8_E8M0
  float factor = 1;           // factor applied to each first
  uint64_t rows = 0, columns = 0;
  bool is_transposed = false;  // stored column by column
  uint64_t tile_rows = 1, tile_columns = 1;
};

struct CodedMatrix {
  uint64_t rows = 0, columns = 0;
  CodeGrid codes = {};
  std::shared_ptr<const std::vector<float>> table = {};  // value per code; null: the code itself
  CodeGrid zeros = {};                                   // one per scale; outer == 0: none
  int32_t zero = 0;                                      // also subtracted from each code
  ScaleGrid scales = {};
  // One bias per scale; rows == 0: none. Product and sum are each rounded to their type.
  ScaleGrid biases = {};
  bool divides = false;  // divides by the scale instead of multiplying
  // The group of each column; null: column / scales.tile_columns.
  std::shared_ptr<const std::vector<uint32_t>> groups = {};
  float factor = 1, addend = 0;

  bool has_zeros() const { return zeros.outer != 0; }
  bool has_biases() const { return biases.rows != 0; }
};

class CodedSource final : public ComputedSource {
 public:
  // Requires: the bytes of each grid match its sizes, and every group is below scales.columns.
  CodedSource(std::string name, CodedMatrix matrix);

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override;
  uint64_t size_bytes() const override { return matrix_.rows * matrix_.columns * sizeof(float); }
  uint64_t own_scratch_bytes(uint64_t size_bytes) const override;
  const std::string& name() const override { return name_; }
  static constexpr Kind kKind = Kind::kCoded;
  Kind kind() const override { return kKind; }
  void each_input(const TakeInput& take) const override;
  std::string operation() const override;
  const CodedMatrix& matrix() const { return matrix_; }

 private:
  Status decode_rows(uint64_t first, uint64_t count, std::span<float> out) const;

  std::string name_;
  CodedMatrix matrix_;
};

}  // namespace ckpt
