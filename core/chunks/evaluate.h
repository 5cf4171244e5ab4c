// Reads rows of a tensor while planning, with their values now or in the output, so that a
// transform can choose by measured error.
//
//   Stored     bytes ─ decode ─▶ values
//   Recoded    bytes ─ decode, operations, encode with its codec, decode ─▶ values
//
// Memory and time are bounded: of a large tensor, only evenly spaced bands of rows are read. A
// number from a sample is an estimate. If a codec needs statistics of the entire tensor but the
// tensor has none, those of the sample are used.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "core/model/codec.h"

namespace ckpt {

// A quarter of a million values determine the error of a tensor to a tenth of a decibel.
inline constexpr uint64_t kSampleValues = uint64_t{1} << 18;

// The largest magnitude of all values from which `tensor` will be encoded (of its own values if it
// is Stored). Reads the entire tensor, one band of rows at a time. Fails: kUnsupported: values that
// cannot be decoded, magnitudes of blocks, repacked bits; kCorrupt: NaN or Inf; kIo.
Result<float> find_amax(const Tensor& tensor);

// The distance of values from a reference, as sums of squares.
struct ValueError {
  double signal = 0, noise = 0;
  double relative() const { return signal > 0 ? noise / signal : 0; }
  double sqnr_db() const;  // 999 if nothing differs
};
// Compares rows of two tensors of equal shape: all rows if they have at most `limit_values` values,
// otherwise evenly spaced rows. `column_weights` are the weights of columns; if empty, all columns
// count equally. Fails: kUnsupported for different shapes; as find_amax.
Result<ValueError> measure_error(const Tensor& made, const Tensor& reference,
                                 std::span<const float> column_weights = {},
                                 uint64_t limit_values = kSampleValues);

// Sums over rows, one per column: of a squared, and of a times b.
struct ColumnSums {
  std::vector<double> square, product;
};
// Adds sums of `a` and `b` to `sums`, empty or of as many columns. Fails as measure_error.
Status add_column_sums(const Tensor& a, const Tensor& b, ColumnSums& sums,
                       uint64_t limit_values = kSampleValues);

// Entire rows of a tensor, chosen as measure_error chooses them.
struct RowSample {
  std::vector<float> values;   // rows.size() x row_values()
  std::vector<uint64_t> rows;  // row indices, ascending
};
// Samples rows in at most `most_runs` contiguous runs, for sources such as servers where a run
// costs more than its rows. Fails: as find_amax, but returns NaN and Inf unchanged.
Result<RowSample> sample_rows(const Tensor& tensor, uint64_t limit_values = kSampleValues,
                              uint64_t most_runs = UINT64_MAX);

}  // namespace ckpt
