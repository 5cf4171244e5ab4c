// Rounds NVFP4 blocks with error feedback (core/chunks/error_feedback.h), one run of columns at a
// time.
//
// Each row is rounded in two ways:
//   1  for each block of 16: the scale with the lowest error on the remaining values, among the
//   codes
//      from 6 below to 7 above that of the largest magnitude; its values are rounded one by one,
//      and later ones are corrected
//   2  scales from the largest magnitudes and nearest codes, as without a search
// The way that costs less is kept; the first if they are equal.
//
// fit_nvfp4_run_scalar is the specification of fit_nvfp4_run, which gives the same with vectors.
// Note: both costs use the same second moments, so the result is never worse than plain rounding by
// the minimized measure. A row with Inf, NaN or a block whose corrected values leave the range of
// floats uses the second way.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/model/float_convert.h"
#include "quantizers/nvfp4/checkpoint.h"

namespace ckpt {
namespace {

constexpr uint32_t kBlock = kE2m1BlockValues;

// Rounds the values of a row, correcting those that follow; returns the cost. scale_of(block, its
// values) returns the factor of E2M1 numbers.
template <class ScaleOf>
float round_row(float* values, const FeedbackRun& run, const ScaleOf& scale_of) {
  float cost = 0, scale = 0;
  for (uint32_t i = 0; i < run.columns; ++i) {
    if (i % kBlock == 0) scale = scale_of(i / kBlock, values + i);
    const float* factors = run.factors + uint64_t{i} * run.columns;
    const float value = values[i];
    const float rounded = std::copysign(nearest_e2m1_scalar(value / scale) * scale, value);
    const float error = value - rounded;
    cost = cost + factors[i] * (error * error);
    values[i] = rounded;
    for (uint32_t k = i + 1; k < run.columns; ++k) values[k] = values[k] - error * factors[k];
  }
  return cost;
}

// Returns the weighted squared error of a block; each value is rounded after one multiplication.
float error_of(const float* values, const float* weights, float scale) {
  const float inverse = 1.0f / scale;
  float sum = 0;
  for (uint32_t i = 0; i < kBlock; ++i) {
    const float magnitude = std::fabs(values[i]);
    const float error = magnitude - nearest_e2m1_scalar(magnitude * inverse) * scale;
    sum = sum + weights[i] * (error * error);
  }
  return sum;
}

// The code of the best scale, the smallest among equals.
uint8_t search_code(const float* values, const float* weights, float tensor_scale) {
  float amax, unused;
  std::byte middle;
  find_block_amax_scalar(values, 1, &amax);
  make_nvfp4_scales_scalar(&amax, 1, tensor_scale, &middle, &unused);
  uint8_t best = static_cast<uint8_t>(middle);
  float least = INFINITY;
  for (int32_t i = 0; i < kScaleCodesTried; ++i) {
    const int32_t wanted = static_cast<int32_t>(middle) - kScaleCodesBelow + i;
    const auto code = static_cast<uint8_t>(std::clamp(wanted, 1, 0x7E));
    const float error = error_of(values, weights, float_from_e4m3(code) * tensor_scale);
    if (!(error < least)) continue;
    least = error;
    best = code;
  }
  return best;
}

}  // namespace

void fit_nvfp4_run_scalar(const RowsOfRun& rows, const FeedbackRun& run) {
  const uint32_t blocks = run.columns / kBlock;
  std::vector<std::byte> plain_scales(blocks), scales(blocks);
  std::vector<float> amax(blocks), divisors(blocks);
  for (uint64_t row = 0; row < rows.rows; ++row) {
    float* const values = rows.values + row * rows.row_values;
    find_block_amax_scalar(values, blocks, amax.data());
    make_nvfp4_scales_scalar(amax.data(), blocks, run.tensor_scale, plain_scales.data(),
                             divisors.data());
    std::vector<float> plain(values, values + run.columns), fitted = plain;
    const float plain_cost =
        round_row(plain.data(), run, [&](uint32_t b, const float*) { return divisors[b]; });
    const float cost = round_row(fitted.data(), run, [&](uint32_t b, const float* block) {
      const uint8_t code = search_code(block, run.weights + b * kBlock, run.tensor_scale);
      scales[b] = static_cast<std::byte>(code);
      return float_from_e4m3(code) * run.tensor_scale;
    });
    const bool is_kept = cost <= plain_cost && std::isfinite(cost);
    if (is_kept) std::copy(fitted.begin(), fitted.end(), values);
    std::copy_n((is_kept ? scales : plain_scales).data(), blocks,
                rows.scales + row * rows.row_blocks);
  }
}

}  // namespace ckpt
