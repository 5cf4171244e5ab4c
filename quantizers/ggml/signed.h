// Implements fit_signed of scale_search.h with one run of values per lane.
//
// Per lane, with x0 the first value of largest magnitude and candidate k = -9..9:
//
//   i = -(top + 0.1 k) / x0
//   for each x:  l = clamp(round(i x), -top, top - 1);  P += (w x) l;  Q += (w l) l
//   if Q > 0 and P^2 > best Q:  keep i, scale = P / Q, best = scale P
//
// Candidates are independent, so several share a pass over the values.
//
// Note: comparisons still happen in the order of k, after the plain i = -top / x0. |i x| stays near
// top, so Round equals ggml's rounding; only Inf and NaN are bad. Included once per target by
// *_simd.cc files only.
#if defined(CKPT_SIMD_SIGNED_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_SIGNED_H
#undef CKPT_SIMD_SIGNED_H
#else
#define CKPT_SIMD_SIGNED_H
#endif

#include "quantizers/ggml/scale_search.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// The data of the search in signed.h: groups of runs and their extremes.
//
// A group is kLanes runs of kCount values, one run per lane; vector e of an array holds value e of
// each.
//
// Note: the first of two equal magnitudes is the extreme. A lane with NaN is bad, even if it is
// also dead.

// The number of candidates per pass: as many as leave room in the registers.
constexpr size_t kPassWidth = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 6 : 3;

template <size_t kCount>
struct SignedGroup {
  alignas(64) float x[kCount * kLanes];
  alignas(64) float w[kCount * kLanes];
  alignas(64) float wx[kCount * kLanes];  // w x
};

struct SignedLanes {
  Float extreme, scale, best, inverse;
  Mask dead;  // all values are zero, or nearly
  Mask bad;   // Inf or NaN among the values
};

// Finds the value of largest magnitude of each lane, the first among equals.
template <size_t kCount>
HWY_INLINE void find_extremes(const float* x, SignedLanes& lanes) {
  Float largest = hn::Zero(kF);
  Float extreme = largest;
  Int magnitude = splat_int(0);
  for (size_t e = 0; e < kCount; ++e) {
    const Float value = hn::Load(kF, x + e * kLanes);
    const Float size = hn::Abs(value);
    const Mask larger = hn::Gt(size, largest);
    largest = hn::IfThenElse(larger, size, largest);
    extreme = hn::IfThenElse(larger, value, extreme);
    magnitude = hn::Max(magnitude, bits_of(size));
  }
  lanes.extreme = extreme;
  lanes.dead = hn::Lt(largest, splat(kZeroMagnitude));
  lanes.bad = hn::RebindMask(kF, hn::Gt(magnitude, splat_int(kInfBits - 1)));
}

// Limit floats by integer comparison: values to a bound > 0 as signed integers, and to a bound < 0
// as unsigned ones, where negative floats are above others and larger magnitudes are larger.
HWY_INLINE Float limit_signed_high(Float value, Float bound) {
  return float_of(hn::Min(bits_of(value), bits_of(bound)));
}
HWY_INLINE Float limit_signed_low(Float value, Float bound) {
  return hn::BitCast(kF, hn::Min(hn::BitCast(kW, value), hn::BitCast(kW, bound)));
}

template <bool kLimitLow>
HWY_INLINE Float signed_level(Float x, Float inverse, Float top) {
  const Float level = limit_signed_high(hn::Round(hn::Mul(inverse, x)), hn::Sub(top, splat(1.0f)));
  if constexpr (kLimitLow) return limit_signed_low(level, hn::Neg(top));
  return level;
}

template <size_t kWidth>
struct SignedSums {
  Float wxl[kWidth];
  Float wll[kWidth];
};

template <bool kLimitLow, size_t kWidth, size_t kCount>
HWY_INLINE void sum_signed(const SignedGroup<kCount>& g, const Float* inverse, Float top,
                           SignedSums<kWidth>& out) {
  HWY_UNROLL(8)
  for (size_t c = 0; c < kWidth; ++c) out.wxl[c] = out.wll[c] = hn::Zero(kF);
  for (size_t e = 0; e < kCount; ++e) {
    const Float x = hn::Load(kF, g.x + e * kLanes);
    const Float w = hn::Load(kF, g.w + e * kLanes);
    const Float wx = hn::Load(kF, g.wx + e * kLanes);
    HWY_UNROLL(8)
    for (size_t c = 0; c < kWidth; ++c) {
      const Float level = signed_level<kLimitLow>(x, inverse[c], top);
      out.wxl[c] = hn::Add(out.wxl[c], hn::Mul(wx, level));
      out.wll[c] = hn::Add(out.wll[c], hn::Mul(hn::Mul(w, level), level));
    }
  }
}

// Tries the kWidth candidates from numerator `first` (-9, -6, ...) on, skipping 0.
template <bool kLimitLow, size_t kWidth, size_t kCount>
HWY_INLINE void try_signed(const SignedGroup<kCount>& g, int first, float top, SignedLanes& lanes) {
  Float inverse[kWidth];
  HWY_UNROLL(8)
  for (size_t c = 0; c < kWidth; ++c) {
    int k = first + static_cast<int>(c);
    if (first < 0 && k >= 0) ++k;
    inverse[c] = hn::Div(splat(-(top + 0.1f * static_cast<float>(k))), lanes.extreme);
  }
  SignedSums<kWidth> sums;
  sum_signed<kLimitLow>(g, inverse, splat(top), sums);
  HWY_UNROLL(8)
  for (size_t c = 0; c < kWidth; ++c) {
    const Float wxl = sums.wxl[c];
    const Float wll = sums.wll[c];
    const Mask better =
        hn::And(hn::Gt(wll, hn::Zero(kF)), hn::Gt(hn::Mul(wxl, wxl), hn::Mul(lanes.best, wll)));
    const Float scale = hn::Div(wxl, wll);
    lanes.scale = hn::IfThenElse(better, scale, lanes.scale);
    lanes.best = hn::IfThenElse(better, hn::Mul(scale, wxl), lanes.best);
    lanes.inverse = hn::IfThenElse(better, inverse[c], lanes.inverse);
  }
}

// Requires: x and w are set. Codes of the search: clamp(round(inverse x), -top, top - 1) + top, or
// 0 in dead lanes, whose scale is 0.
template <size_t kCount>
HWY_INLINE SignedLanes fit_signed_lanes(SignedGroup<kCount>& g, int32_t steps) {
  SignedLanes lanes;
  find_extremes<kCount>(g.x, lanes);
  lanes.scale = lanes.best = lanes.inverse = hn::Zero(kF);
  if (hn::AllTrue(kF, lanes.dead)) return lanes;
  for (size_t e = 0; e < kCount; ++e) {
    const Float x = hn::Load(kF, g.x + e * kLanes);
    hn::Store(hn::Mul(hn::Load(kF, g.w + e * kLanes), x), kF, g.wx + e * kLanes);
  }
  const auto top = static_cast<float>(steps);
  lanes.inverse = hn::Div(splat(-top), lanes.extreme);
  SignedSums<1> sums;
  sum_signed<false>(g, &lanes.inverse, splat(top), sums);
  const Mask empty = hn::Eq(sums.wll[0], hn::Zero(kF));
  lanes.scale = hn::IfThenZeroElse(empty, hn::Div(sums.wxl[0], sums.wll[0]));
  lanes.best = hn::Mul(lanes.scale, sums.wxl[0]);
  if constexpr (kPassWidth == 6) {  // the lower limit matters from k = 5 on
    try_signed<false, 6>(g, -9, top, lanes);
    try_signed<false, 6>(g, -3, top, lanes);
    try_signed<true, 6>(g, 4, top, lanes);
  } else {
    for (int k = -9; k < 0; k += 3) try_signed<false, 3>(g, k, top, lanes);
    try_signed<false, 3>(g, 1, top, lanes);
    for (int k = 4; k < 9; k += 3) try_signed<true, 3>(g, k, top, lanes);
  }
  lanes.scale = hn::IfThenElse(lanes.dead, hn::Zero(kF), lanes.scale);
  return lanes;
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_SIGNED_H
