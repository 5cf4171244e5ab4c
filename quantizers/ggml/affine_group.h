// Data of the search of affine.h: groups of runs, their bounds and weights, levels.
//
// A group is kLanes runs of kCount values, one run a lane.
//
// Note: a dead lane, whose values are all alike and not above 0, has a
// result (scale 0); a bad lane has none.
// Included once for each target by *_simd.cc files only.
#if defined(CKPT_SIMD_AFFINE_GROUP_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_AFFINE_GROUP_H
#undef CKPT_SIMD_AFFINE_GROUP_H
#else
#define CKPT_SIMD_AFFINE_GROUP_H
#endif

#include "quantizers/ggml/scale_search.h"
#include "quantizers/simd/rows.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kMaxCandidates = 37;

// Of an AffineSearch: candidate k divides numerators[k] by the range.
struct Numerators {
  float top;
  size_t count;
  size_t unlimited;  // the first so many need no limit at top
  float values[kMaxCandidates];
};

inline Numerators make_numerators(const AffineSearch& search) {
  Numerators out{};
  out.top = static_cast<float>(search.top);
  out.count = static_cast<size_t>(search.last) + 1;
  for (size_t k = 0; k < out.count; ++k) {
    out.values[k] = search.first + search.step * static_cast<float>(k) + out.top;
    if (out.values[k] < out.top + 0.4f) out.unlimited = k + 1;
  }
  return out;
}

// kLanes runs of kCount values: vector e holds value e of each.
template <size_t kCount>
struct AffineGroup {
  alignas(64) float x[kCount * kLanes];
  alignas(64) float w[kCount * kLanes];
  alignas(64) float l[kCount * kLanes];  // levels of the candidate being tried
};

struct AffineLanes {
  Float low, high, first_low, sum_w, sum_wx;
  Float best, scale, inverse, start;
  Mask dead;  // all values alike and not above 0
  Mask bad;
};

struct AffineCandidate {
  Float inverse, scale, low, determinant;
};

// Where the results of runs go: one element a run, aligned for vectors.
struct AffineFound {
  float* scale;
  float* minimum;  // subtracted, as in AffineScale
  float* inverse;  // codes of the search: clamp(round(inverse (x - start)))
  float* start;
  float* weight;  // sum of the weights
  int32_t* bad;   // not 0: ask the scalar twin
};

HWY_INLINE void store_found(const AffineLanes& lanes, size_t at, const AffineFound& out) {
  const Float zero = hn::Zero(kF);
  hn::Store(hn::IfThenElse(lanes.dead, zero, lanes.scale), kF, out.scale + at);
  hn::Store(hn::Neg(lanes.low), kF, out.minimum + at);
  hn::Store(hn::IfThenElse(lanes.dead, zero, lanes.inverse), kF, out.inverse + at);
  hn::Store(hn::IfThenElse(lanes.dead, zero, lanes.start), kF, out.start + at);
  hn::Store(lanes.sum_w, kF, out.weight + at);
  hn::Store(hn::VecFromMask(kI, hn::RebindMask(kI, lanes.bad)), kI, out.bad + at);
}

// Bounds and weights' sums. Lanes with Inf or NaN among the values are bad.
template <size_t kCount>
HWY_INLINE void scan(const AffineGroup<kCount>& g, AffineLanes& lanes) {
  Float low = vector_at(g.x, 0);
  Float high = low;
  Int magnitude = magnitude_bits(low);
  lanes.sum_w = vector_at(g.w, 0);
  lanes.sum_wx = hn::Mul(lanes.sum_w, low);
  for (size_t e = 1; e < kCount; ++e) {
    const Float x = vector_at(g.x, e);
    const Float w = vector_at(g.w, e);
    low = hn::IfThenElse(hn::Lt(x, low), x, low);
    high = hn::IfThenElse(hn::Gt(x, high), x, high);
    magnitude = hn::Max(magnitude, magnitude_bits(x));
    lanes.sum_w = hn::Add(lanes.sum_w, w);
    lanes.sum_wx = hn::Add(lanes.sum_wx, hn::Mul(w, x));
  }
  lanes.low = hn::IfThenElse(hn::Gt(low, hn::Zero(kF)), hn::Zero(kF), low);
  lanes.first_low = lanes.low;
  lanes.high = high;
  lanes.dead = hn::Eq(high, lanes.low);
  lanes.bad = hn::RebindMask(kF, hn::Gt(magnitude, splat_int(kInfBits - 1)));
}

// The products of `inverse` stay within +-2^21, and at most the numerator above.
HWY_INLINE void check_range(Float inverse, AffineLanes& lanes) {
  const Float lowest = hn::Mul(inverse, hn::Sub(lanes.first_low, lanes.low));
  const Mask fine =
      hn::And(hn::Gt(inverse, hn::Zero(kF)), hn::Lt(hn::Abs(lowest), splat(2097152.0f)));
  lanes.bad = hn::Or(lanes.bad, hn::Not(fine));
}

template <bool kLimit>
HWY_INLINE Float affine_level(Float x, Float inverse, Float low, Float top) {
  const Float level = limit_low_zero(hn::Round(hn::Mul(inverse, hn::Sub(x, low))));
  if constexpr (kLimit) return limit_high(level, top);
  return level;
}

template <bool kAbsolute>
HWY_INLINE Float affine_term(Float x, Float w, Float level, Float scale, Float low) {
  const Float difference = hn::Sub(hn::Add(hn::Mul(scale, level), low), x);
  if constexpr (kAbsolute) return hn::Mul(w, hn::Abs(difference));
  return hn::Mul(w, hn::Mul(difference, difference));
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_AFFINE_GROUP_H
