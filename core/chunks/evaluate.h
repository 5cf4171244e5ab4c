// Reads rows of a tensor while planning, as the values they have or will have in the output, so
// that a transform can choose by measured error.
//
//   Stored     bytes ─ decode ─▶ values
//   Recoded    bytes ─ decode, operations, encode with its codec, decode ─▶ values
//
// Memory and time are bounded: from a large tensor, only evenly spread bands of rows are read. A
// figure from a sample is an estimate. If a codec needs statistics of the entire tensor and the
// tensor does not have them, those of the sample are used.
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

// The largest magnitude of all values that `tensor` will be encoded from (of its own values if it
// is Stored). Reads the whole tensor, a band of rows at a time. Fails: kUnsupported: values that
// cannot be decoded, magnitudes of blocks, repacked bits; kCorrupt: NaN or Inf; kIo.
Result<float> find_amax(const Tensor& tensor);

// The distance of values from a reference, as sums of squares.
struct ValueError {
  double signal = 0, noise = 0;
  double relative() const { return signal > 0 ? noise / signal : 0; }
  double sqnr_db() const;  // 999 when nothing differs
};
// Compares rows of two tensors with the same values in the same places: all rows if they have at
// most `limit_values` values, otherwise evenly spread rows. `column_weights` are the weights of
// columns; if empty, all columns count equally. Fails: kUnsupported for other shapes; as find_amax.
Result<ValueError> measure_error(const Tensor& made, const Tensor& reference,
                                 std::span<const float> column_weights = {},
                                 uint64_t limit_values = kSampleValues);

// Sums over rows, one a column: of a squared, and of a times b.
struct ColumnSums {
  std::vector<double> square, product;
};
// Adds those of `a` and `b` to `sums`, which is empty or has their columns. Fails as measure_error.
Status add_column_sums(const Tensor& a, const Tensor& b, ColumnSums& sums,
                       uint64_t limit_values = kSampleValues);

// Whole rows of a tensor, chosen as measure_error chooses them.
struct RowSample {
  std::vector<float> values;   // rows.size() x row_values()
  std::vector<uint64_t> rows;  // their numbers, ascending
};
// In at most `most_runs` runs of neighbors, where a run costs more than its rows, as from a server.
// Fails: as find_amax, but returns NaN and Inf unchanged.
Result<RowSample> sample_rows(const Tensor& tensor, uint64_t limit_values = kSampleValues,
                              uint64_t most_runs = UINT64_MAX);

}  // namespace ckpt
