#include "quantizers/ggml/scale_search.h"

#include <algorithm>
#include <cmath>

#include "quantizers/rounding.h"

namespace ckpt {
namespace {

// ---- affine -----------------------------------------------------------------------------------

// Computes codes as floats: float(round(inverse (value - low))), clamped to 0..top.
template <size_t kCount>
void round_to_levels(const float* values, float inverse, float low, int32_t top, float* levels) {
  for (size_t i = 0; i < kCount; ++i) {
    levels[i] = static_cast<float>(round_and_clamp(inverse * (values[i] - low), 0, top));
  }
}

template <size_t kCount>
float affine_error(const float* values, const float* weights, const float* levels,
                   AffineScale scale, bool absolute) {
  float terms[kCount];
  for (size_t i = 0; i < kCount; ++i) {
    const float difference = scale.scale * levels[i] + scale.minimum - values[i];
    terms[i] = weights[i] * (absolute ? std::fabs(difference) : difference * difference);
  }
  float error = 0;
  for (size_t i = 0; i < kCount; ++i) error += terms[i];
  return error;
}

// Sums of weighted least squares for value ~ scale level + minimum, minimum <= 0.
struct AffineSums {
  float w, wx;                     // over the run
  float wl = 0, wll = 0, wlx = 0;  // for one candidate's levels
};

template <size_t kCount>
void add_levels(const float* values, const float* weights, const float* levels, AffineSums& sums) {
  for (size_t i = 0; i < kCount; ++i) {
    const float product = weights[i] * levels[i];
    sums.wl += product;
    sums.wll += product * levels[i];
    sums.wlx += product * values[i];
  }
}

AffineScale solve(const AffineSums& sums, float determinant) {
  AffineScale out{(sums.w * sums.wlx - sums.wx * sums.wl) / determinant,
                  (sums.wll * sums.wx - sums.wl * sums.wlx) / determinant};
  if (out.minimum > 0) out = {sums.wlx / sums.wll, 0};
  return out;
}

}  // namespace

// In this function a minimum is at most 0 and added; only the result is negated.
template <size_t kCount>
AffineScale fit_affine(const float* values, const float* weights, const AffineSearch& search,
                       uint8_t* codes) {
  float low = values[0];
  float high = values[0];
  AffineSums sums{weights[0], weights[0] * values[0]};
  for (size_t i = 1; i < kCount; ++i) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
    sums.w += weights[i];
    sums.wx += weights[i] * values[i];
  }
  if (low > 0) low = 0;
  if (high == low) {
    std::fill_n(codes, kCount, uint8_t{0});
    return {0, -low};
  }
  const auto top = static_cast<float>(search.top);
  float best_levels[kCount];
  float inverse = top / (high - low);
  AffineScale best{1 / inverse, low};
  round_to_levels<kCount>(values, inverse, low, search.top, best_levels);
  float best_error = affine_error<kCount>(values, weights, best_levels, best, search.absolute);
  for (int32_t k = 0; k <= search.last; ++k) {
    inverse = (search.first + search.step * static_cast<float>(k) + top) / (high - best.minimum);
    float levels[kCount];
    round_to_levels<kCount>(values, inverse, best.minimum, search.top, levels);
    AffineSums candidate{sums.w, sums.wx};
    add_levels<kCount>(values, weights, levels, candidate);
    const float determinant = candidate.w * candidate.wll - candidate.wl * candidate.wl;
    if (!(determinant > 0)) continue;
    const AffineScale scale = solve(candidate, determinant);
    const float error = affine_error<kCount>(values, weights, levels, scale, search.absolute);
    if (!(error < best_error)) continue;
    std::copy_n(levels, kCount, best_levels);
    best_error = error;
    best = scale;
  }
  for (size_t i = 0; i < kCount; ++i) codes[i] = static_cast<uint8_t>(best_levels[i]);
  return {best.scale, -best.minimum};
}

// ---- signed -----------------------------------------------------------------------------------
namespace {

struct SignedSums {
  float wxl = 0, wll = 0;
};

template <size_t kCount>
SignedSums sum_signed(const float* values, const float* weights, float inverse, int32_t top) {
  float levels[kCount];
  for (size_t i = 0; i < kCount; ++i) {
    levels[i] = static_cast<float>(round_and_clamp(inverse * values[i], -top, top - 1));
  }
  SignedSums out;
  for (size_t i = 0; i < kCount; ++i) {
    out.wxl += weights[i] * values[i] * levels[i];
    out.wll += weights[i] * levels[i] * levels[i];
  }
  return out;
}

}  // namespace

template <size_t kCount>
float fit_signed(const float* values, const float* weights, int32_t top, uint8_t* codes) {
  const ExtremeValue extreme = find_extreme<kCount>(values);
  if (extreme.magnitude < kZeroMagnitude) {
    std::fill_n(codes, kCount, uint8_t{0});
    return 0;
  }
  const auto steps = static_cast<float>(top);
  float best_inverse = -steps / extreme.value;
  SignedSums sums = sum_signed<kCount>(values, weights, best_inverse, top);
  float scale = sums.wll != 0 ? sums.wxl / sums.wll : 0.0f;
  float best = scale * sums.wxl;
  for (int k = -9; k <= 9; ++k) {
    if (k == 0) continue;
    const float inverse = -(steps + 0.1f * static_cast<float>(k)) / extreme.value;
    sums = sum_signed<kCount>(values, weights, inverse, top);
    if (sums.wll > 0 && sums.wxl * sums.wxl > best * sums.wll) {
      scale = sums.wxl / sums.wll;
      best = scale * sums.wxl;
      best_inverse = inverse;
    }
  }
  for (size_t i = 0; i < kCount; ++i) {
    const int32_t level = round_and_clamp(best_inverse * values[i], -top, top - 1);
    codes[i] = static_cast<uint8_t>(level + top);
  }
  return scale;
}

template <size_t kCount>
float fit_signed_stepwise(const float* values, int32_t top, uint8_t* codes) {
  const ExtremeValue extreme = find_extreme<kCount>(values);
  if (extreme.magnitude < kZeroMagnitude) {
    std::fill_n(codes, kCount, uint8_t{0});
    return 0;
  }
  const float inverse = static_cast<float>(-top) / extreme.value;
  float levels[kCount];
  SignedSums sums;
  for (size_t i = 0; i < kCount; ++i) {
    levels[i] = static_cast<float>(round_and_clamp(inverse * values[i], -top, top - 1));
    const float weight = values[i] * values[i];
    sums.wxl += weight * values[i] * levels[i];
    sums.wll += weight * levels[i] * levels[i];
  }
  bool changed = true;
  for (int sweep = 0; sweep < 5 && changed; ++sweep) {
    changed = false;
    for (size_t i = 0; i < kCount; ++i) {
      const float weight = values[i] * values[i];
      SignedSums next{sums.wxl - weight * values[i] * levels[i], 0};
      if (!(next.wxl > 0)) continue;
      next.wll = sums.wll - weight * levels[i] * levels[i];
      const auto level =
          static_cast<float>(round_and_clamp(values[i] * next.wll / next.wxl, -top, top - 1));
      if (level == levels[i]) continue;
      next.wxl += weight * values[i] * level;
      next.wll += weight * level * level;
      if (next.wll > 0 && next.wxl * next.wxl * sums.wll > sums.wxl * sums.wxl * next.wll) {
        levels[i] = level;
        sums = next;
        changed = true;
      }
    }
  }
  for (size_t i = 0; i < kCount; ++i) {
    codes[i] = static_cast<uint8_t>(static_cast<int32_t>(levels[i]) + top);
  }
  return sums.wll > 0 ? sums.wxl / sums.wll : 0.0f;
}

// ---- positive ---------------------------------------------------------------------------------
namespace {

// The factor to codes with the lowest error, among the obvious one and eight near it.
template <size_t kCount>
float best_positive_inverse(const float* values, const float* weights, int32_t top, float largest) {
  const auto steps = static_cast<float>(top);
  float best_inverse = steps / largest;
  float best_error = 0;
  for (size_t i = 0; i < kCount; ++i) {
    // The first codes are not clamped but stored in a byte, which wraps for negative values.
    const auto level = static_cast<uint8_t>(round_to_int(best_inverse * values[i]));
    const float difference = values[i] - 1 / best_inverse * static_cast<float>(level);
    best_error += weights[i] * difference * difference;
  }
  for (int k = -4; k <= 4; ++k) {
    if (k == 0) continue;
    const float inverse = (0.1f * static_cast<float>(k) + steps) / largest;
    const float scale = 1 / inverse;
    float error = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const int32_t level = std::min(top, round_to_int(inverse * values[i]));
      const float difference = values[i] - scale * static_cast<float>(level);
      error += weights[i] * difference * difference;
    }
    if (error < best_error) {
      best_error = error;
      best_inverse = inverse;
    }
  }
  return best_inverse;
}

// Makes one pass over the codes. Returns true if one changed.
template <size_t kCount>
bool improve_positive(const float* values, const float* weights, int32_t top, SignedSums& sums,
                      uint8_t* codes) {
  bool changed = false;
  for (size_t i = 0; i < kCount; ++i) {
    const auto old_level = static_cast<float>(codes[i]);
    SignedSums next{sums.wxl - weights[i] * values[i] * old_level,
                    sums.wll - weights[i] * old_level * old_level};
    if (!(next.wxl > 0 && next.wll > 0)) continue;
    const int32_t code = std::min(top, round_to_int(values[i] * next.wll / next.wxl));
    if (code == codes[i]) continue;
    const auto level = static_cast<float>(code);
    next.wxl += weights[i] * values[i] * level;
    next.wll += weights[i] * level * level;
    if (next.wxl * next.wxl * sums.wll > sums.wxl * sums.wxl * next.wll) {
      codes[i] = static_cast<uint8_t>(code);
      sums = next;
      changed = true;
    }
  }
  return changed;
}

}  // namespace

template <size_t kCount>
float fit_positive(const float* values, const float* weights, int32_t top, uint8_t* codes) {
  float largest = 0;
  for (size_t i = 0; i < kCount; ++i) largest = largest > values[i] ? largest : values[i];
  if (largest < kZeroMagnitude) {
    std::fill_n(codes, kCount, uint8_t{0});
    return 0;
  }
  const float inverse = best_positive_inverse<kCount>(values, weights, top, largest);
  SignedSums sums;
  for (size_t i = 0; i < kCount; ++i) {
    const int32_t code = std::min(top, round_to_int(inverse * values[i]));
    codes[i] = static_cast<uint8_t>(code);
    const auto level = static_cast<float>(code);
    sums.wxl += weights[i] * values[i] * level;
    sums.wll += weights[i] * level * level;
  }
  for (int sweep = 0; sweep < 5; ++sweep) {
    if (!improve_positive<kCount>(values, weights, top, sums, codes)) break;
  }
  return sums.wll > 0 ? sums.wxl / sums.wll : 0.0f;
}

// ---- weights ----------------------------------------------------------------------------------

float sum_of_squares(const float* values, uint64_t count) {
  float sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += values[i] * values[i];
  return sum;
}

void weigh(const float* values, const float* column_weights, float variance, size_t count,
           float* out) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = column_weights[i] * std::sqrt(variance + values[i] * values[i]);
  }
}

template AffineScale fit_affine<16>(const float*, const float*, const AffineSearch&, uint8_t*);
template AffineScale fit_affine<32>(const float*, const float*, const AffineSearch&, uint8_t*);
template float fit_signed<16>(const float*, const float*, int32_t, uint8_t*);
template float fit_signed<32>(const float*, const float*, int32_t, uint8_t*);
template float fit_signed_stepwise<16>(const float*, int32_t, uint8_t*);
template float fit_positive<8>(const float*, const float*, int32_t, uint8_t*);
template float fit_positive<16>(const float*, const float*, int32_t, uint8_t*);
template float fit_positive<32>(const float*, const float*, int32_t, uint8_t*);

}  // namespace ckpt
