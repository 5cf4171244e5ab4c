// Searches for the scale (and minimum) that a run of values is best stored with, and the codes
// that go with it. One run is one sub-block; kCount is its length.
//
// All of them try scales near the obvious one, round the values to codes with it, solve the
// weighted least-squares problem for these codes, and keep a result that lowers the error:
//   affine     value ~ scale code - minimum      code 0..top          sum w (error)^2 or w |error|
//   signed     value ~ scale (code - top)        code 0..2 top - 1    sum w (error)^2
//   positive   value ~ scale code, value >= 0    code 0..top          sum w (error)^2
//
// Note: which candidate wins depends on every rounding, so each sum runs
// from the first value to the last, products associate as written and comparisons are strict. In
// fit_affine an accepted candidate moves the minimum that the next candidate starts from.
// Source of truth: llama.cpp ggml/src/ggml-quants.c (make_qkx2_quants, make_qkx3_quants,
// make_qx_quants, make_q3_quants, make_qp_quants).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace ckpt {

// Below this largest magnitude a run counts as all zero.
inline constexpr float kZeroMagnitude = 1e-15f;

// The value of largest magnitude, the first of equals.
struct ExtremeValue {
  float magnitude = 0;
  float value = 0;
};
template <size_t kCount>
ExtremeValue find_extreme(const float* values) {
  ExtremeValue out;
  for (size_t i = 0; i < kCount; ++i) {
    const float magnitude = std::fabs(values[i]);
    if (magnitude > out.magnitude) out = {magnitude, values[i]};
  }
  return out;
}

// Candidate k = 0..last divides the range of the values by (first + step k) + top.
struct AffineSearch {
  int32_t top;
  float first, step;
  int32_t last;
  bool absolute = false;  // error is w |difference|, not w difference^2
};

struct AffineScale {
  float scale;
  float minimum;  // subtracted; positive for values that reach below zero
};

// Instances: kCount 16 and 32. A run whose values are all equal and at most 0 gets scale 0.
template <size_t kCount>
AffineScale fit_affine(const float* values, const float* weights, const AffineSearch& search,
                       uint8_t* codes);

// Instances: kCount 16 and 32. The scale is negative when the value of largest magnitude is
// positive, so that this value gets code 0. Zero runs get scale 0 and codes 0.
template <size_t kCount>
float fit_signed(const float* values, const float* weights, int32_t top, uint8_t* codes);

// As fit_signed with weights value^2, but from one start, code by code: up to 5 sweeps over the
// values, in each of which a code changes when that alone lowers the error.
template <size_t kCount>
float fit_signed_stepwise(const float* values, int32_t top, uint8_t* codes);

// Instances: kCount 8, 16 and 32. Negative values, which a search above may produce, give codes
// that wrap modulo 256; callers keep the bits that ggml keeps.
template <size_t kCount>
float fit_positive(const float* values, const float* weights, int32_t top, uint8_t* codes);

// ---- weights ----------------------------------------------------------------------------------
// Sum of squares, from the first value to the last.
float sum_of_squares(const float* values, uint64_t count);

// out[i] = column_weights[i] sqrt(variance + values[i]^2).
void weigh(const float* values, const float* column_weights, float variance, size_t count,
           float* out);

// ---- the sub-blocks of a block of 256 values --------------------------------------------------
template <size_t kSub>
struct AffineFits {
  static constexpr size_t kSubs = 256 / kSub;
  float scales[kSubs];
  float minimums[kSubs];
  float weights[kSubs];  // sums
  uint8_t codes[256];
};

// fit_affine of each, with the weights that weigh_sub(values, first value, weights) gives.
template <size_t kSub, class WeighSub>
AffineFits<kSub> fit_sub_blocks(const float* values, const AffineSearch& search,
                                const WeighSub& weigh_sub) {
  AffineFits<kSub> out;
  for (size_t j = 0; j < AffineFits<kSub>::kSubs; ++j) {
    const float* sub = values + kSub * j;
    float weights[kSub];
    weigh_sub(sub, kSub * j, weights);
    out.weights[j] = 0;
    for (const float weight : weights) out.weights[j] += weight;
    const AffineScale fit = fit_affine<kSub>(sub, weights, search, out.codes + kSub * j);
    out.scales[j] = fit.scale;
    out.minimums[j] = fit.minimum;
  }
  return out;
}

}  // namespace ckpt
