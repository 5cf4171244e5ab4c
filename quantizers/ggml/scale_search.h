// Searches for the best scale (and minimum) to store a run of values with, and for the codes. One
// run is one sub-block; kCount is its length.
//
// Each search tries scales near the obvious one, rounds the values to codes with it, solves the
// weighted least-squares problem for these codes, and keeps a result that lowers the error:
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

// A run counts as zero if its largest magnitude is below this.
inline constexpr float kZeroMagnitude = 1e-15f;

// The value of largest magnitude; the first among equals.
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
  float minimum;  // to be subtracted; positive if values are below zero
};

// Instances: kCount 16 and 32. A run of equal values of at most 0 gets scale 0.
template <size_t kCount>
AffineScale fit_affine(const float* values, const float* weights, const AffineSearch& search,
                       uint8_t* codes);

// Instances: kCount 16 and 32. The scale is negative if the value of largest magnitude is positive,
// so that this value gets code 0. Zero runs get scale 0 and codes 0.
template <size_t kCount>
float fit_signed(const float* values, const float* weights, int32_t top, uint8_t* codes);

// Like fit_signed with weights value^2, but from one start, code by code: up to 5 sweeps over the
// values, in which a code changes if that alone lowers the error.
template <size_t kCount>
float fit_signed_stepwise(const float* values, int32_t top, uint8_t* codes);

// Instances: kCount 8, 16 and 32. Negative values, which fit_affine may produce, give codes that
// wrap modulo 256; callers keep the bits that ggml keeps.
template <size_t kCount>
float fit_positive(const float* values, const float* weights, int32_t top, uint8_t* codes);

// ---- weights ----------------------------------------------------------------------------------
// The sum of squares, from the first value to the last.
float sum_of_squares(const float* values, uint64_t count);

// Computes out[i] = column_weights[i] sqrt(variance + values[i]^2).
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

// Runs fit_affine for each sub-block, with weights from weigh_sub(values, first value, weights).
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
