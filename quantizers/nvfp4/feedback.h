// NVFP4 blocks rounded with error feedback (core/chunks/error_feedback.h), a run of columns at a
// time.
//
// For each row, on its own:
//   1  for each block of 16: the scale with the least error on the rest of its values, of the codes
//      from 6 below to 7 above that of the largest magnitude; its values are rounded one by one,
//      and later ones corrected
//   2  scales from the largest magnitudes and nearest codes, as without a search
// The one that costs less is kept, 1 where they are equal.
//
// fit_nvfp4_run_scalar is the specification of fit_nvfp4_run, which gives the same with vectors.
// Note: step 2 costs what it costs under the same second moments, so the
// result is never worse than plain rounding by the measure that was minimized. A row with Inf, NaN
// or a block whose corrected values leave the range of floats is left to 2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ckpt {

inline constexpr int32_t kScaleCodesBelow = 6, kScaleCodesTried = 14;

// One run of ErrorFeedback.
struct FeedbackRun {
  const float* factors;  // [columns][columns]
  const float* weights;  // one a column
  uint32_t columns;      // a multiple of 16
  float tensor_scale;
};

// Rows of a run within longer rows.
struct RowsOfRun {
  float* values;        // replaced by what they are rounded to
  uint64_t row_values;  // from one row to the next
  std::byte* scales;    // E4M3 codes, one a block
  uint64_t row_blocks;
  uint64_t rows;
};

void fit_nvfp4_run(const RowsOfRun& rows, const FeedbackRun& run);
void fit_nvfp4_run_scalar(const RowsOfRun& rows, const FeedbackRun& run);

}  // namespace ckpt
