// Implements fit_affine of scale_search.h with one run of values per lane.
//
// Per lane and candidate k, all in float, each operation rounded:
//
//   i = numerator[k] / (high - low)
//   for each x:  l = clamp(round(i (x - low)), 0, top);  A += w l;  B += (w l) l;  C += (w l) x
//   D = W B - A A;  s = (W C - X A) / D;  m = (B X - A C) / D;  if m > 0: m = 0, s = C / B
//   for each x:  d = (s l + m) - x;  E += w d^2, or w |d|
//   if D > 0 and E < best: keep E, s, i, low;  low = m
//
// Two groups of lanes alternate: while the divisions of one are pending, the other computes sums.
//
// Note: an accepted candidate moves `low`, from which the next one starts, so candidates cannot be
// tried in parallel. Codes are not kept: they are computed again from i and the `low` at that time
// (`start`). Lanes in which a product i (x - low) could leave the range where Round equals ggml's
// rounding are marked bad; their results are invalid. Included once per target by *_simd.cc files
// only.
#if defined(CKPT_SIMD_AFFINE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_AFFINE_H
#undef CKPT_SIMD_AFFINE_H
#else
#define CKPT_SIMD_AFFINE_H
#endif

#include "quantizers/ggml/scale_search.h"
#include "quantizers/simd/rows.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// The data of the search: groups of runs, their bounds and weights, levels.
//
// A group is kLanes runs of kCount values, one run per lane.
//
// Note: a dead lane, whose values are all equal and not above 0, has the result scale 0; a bad lane
// has no result.

constexpr size_t kMaxCandidates = 37;

// The numerators of an AffineSearch: candidate k divides numerators[k] by the range.
struct Numerators {
  float top;
  size_t count;
  size_t unlimited;  // number of candidates that cannot exceed `top`
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
  Mask dead;  // all values equal and not above 0
  Mask bad;
};

struct AffineCandidate {
  Float inverse, scale, low, determinant;
};

// Output arrays for the results of runs: one element per run, aligned for vectors.
struct AffineSearchResults {
  float* scale;
  float* minimum;  // to be subtracted, as in AffineScale
  float* inverse;  // codes of the search: clamp(round(inverse (x - start)))
  float* start;
  float* weight;  // sum of the weights
  int32_t* bad;   // not 0: use the scalar twin
};

HWY_INLINE void store_found(const AffineLanes& lanes, size_t at, const AffineSearchResults& out) {
  const Float zero = hn::Zero(kF);
  hn::Store(hn::IfThenElse(lanes.dead, zero, lanes.scale), kF, out.scale + at);
  hn::Store(hn::Neg(lanes.low), kF, out.minimum + at);
  hn::Store(hn::IfThenElse(lanes.dead, zero, lanes.inverse), kF, out.inverse + at);
  hn::Store(hn::IfThenElse(lanes.dead, zero, lanes.start), kF, out.start + at);
  hn::Store(lanes.sum_w, kF, out.weight + at);
  hn::Store(hn::VecFromMask(kI, hn::RebindMask(kI, lanes.bad)), kI, out.bad + at);
}

// Finds bounds and sums of weights. Lanes with Inf or NaN among the values are bad.
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

// Marks lanes bad in which products of `inverse` could leave +-2^21.
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

// Makes the first fit, from the bounds alone.
template <bool kAbsolute, size_t kCount>
HWY_INLINE void fit_bounds(const AffineGroup<kCount>& g, float top, AffineLanes& lanes) {
  lanes.inverse = hn::Div(splat(top), hn::Sub(lanes.high, lanes.low));
  lanes.scale = hn::Div(splat(1.0f), lanes.inverse);
  lanes.start = lanes.low;
  check_range(lanes.inverse, lanes);
  lanes.best = hn::Zero(kF);
  for (size_t e = 0; e < kCount; ++e) {
    const Float x = vector_at(g.x, e);
    const Float level = affine_level<false>(x, lanes.inverse, lanes.low, splat(top));
    const Float term = affine_term<kAbsolute>(x, vector_at(g.w, e), level, lanes.scale, lanes.low);
    lanes.best = hn::Add(lanes.best, term);
  }
}

// Returns the least-squares solution for the sums of a candidate's levels.
template <class Lanes>
HWY_INLINE AffineCandidate solve_affine(const Lanes& lanes, Float a, Float b, Float c,
                                        Float inverse) {
  AffineCandidate out;
  out.inverse = inverse;
  out.determinant = hn::Sub(hn::Mul(lanes.sum_w, b), hn::Mul(a, a));
  out.scale = hn::Div(hn::Sub(hn::Mul(lanes.sum_w, c), hn::Mul(lanes.sum_wx, a)), out.determinant);
  out.low = hn::Div(hn::Sub(hn::Mul(b, lanes.sum_wx), hn::Mul(a, c)), out.determinant);
  const Mask above = hn::Gt(out.low, hn::Zero(kF));
  if (HWY_UNLIKELY(!hn::AllFalse(kF, above))) {
    out.scale = hn::IfThenElse(above, hn::Div(c, b), out.scale);
    out.low = hn::IfThenElse(above, hn::Zero(kF), out.low);
  }
  return out;
}

// Stores a candidate's levels in g.l and returns its least-squares solution.
template <bool kLimit, size_t kCount>
HWY_INLINE AffineCandidate fit_levels(AffineGroup<kCount>& g, Float numerator, Float top,
                                      AffineLanes& lanes) {
  const Float inverse = hn::Div(numerator, hn::Sub(lanes.high, lanes.low));
  const Float low = lanes.low;
  check_range(inverse, lanes);
  Float a = hn::Zero(kF);
  Float b = a;
  Float c = a;
  HWY_UNROLL(4)
  for (size_t e = 0; e < kCount; ++e) {
    const Float x = vector_at(g.x, e);
    const Float level = affine_level<kLimit>(x, inverse, low, top);
    hn::Store(level, kF, g.l + e * kLanes);
    const Float product = hn::Mul(vector_at(g.w, e), level);
    a = hn::Add(a, product);
    b = hn::Add(b, hn::Mul(product, level));
    c = hn::Add(c, hn::Mul(product, x));
  }
  return solve_affine(lanes, a, b, c, inverse);
}

template <bool kAbsolute, size_t kCount>
HWY_INLINE Float sum_error(const AffineGroup<kCount>& g, Float scale, Float low) {
  Float error = hn::Zero(kF);
  HWY_UNROLL(4)
  for (size_t e = 0; e < kCount; ++e) {
    error = hn::Add(error, affine_term<kAbsolute>(vector_at(g.x, e), vector_at(g.w, e),
                                                  vector_at(g.l, e), scale, low));
  }
  return error;
}

template <class Lanes>
HWY_INLINE void accept(const AffineCandidate& candidate, Float error, Lanes& lanes) {
  const Mask better =
      hn::And(hn::Gt(candidate.determinant, hn::Zero(kF)), hn::Lt(error, lanes.best));
  lanes.best = hn::IfThenElse(better, error, lanes.best);
  lanes.scale = hn::IfThenElse(better, candidate.scale, lanes.scale);
  lanes.inverse = hn::IfThenElse(better, candidate.inverse, lanes.inverse);
  lanes.start = hn::IfThenElse(better, lanes.low, lanes.start);
  lanes.low = hn::IfThenElse(better, candidate.low, lanes.low);
}

template <bool kAbsolute, bool kLimit, size_t kCount>
HWY_INLINE void try_candidate(AffineGroup<kCount>* g, Float numerator, Float top,
                              AffineLanes* lanes) {
  const AffineCandidate p = fit_levels<kLimit>(g[0], numerator, top, lanes[0]);
  const AffineCandidate q = fit_levels<kLimit>(g[1], numerator, top, lanes[1]);
  accept(p, sum_error<kAbsolute>(g[0], p.scale, p.low), lanes[0]);
  accept(q, sum_error<kAbsolute>(g[1], q.scale, q.low), lanes[1]);
}

// Searches two groups whose x and w are set; results go to `out` from element `at`.
template <bool kAbsolute, size_t kCount>
HWY_INLINE void fit_affine_lanes(AffineGroup<kCount>* g, const Numerators& numerators, size_t at,
                                 const AffineSearchResults& out) {
  AffineLanes lanes[2];
  scan(g[0], lanes[0]);
  scan(g[1], lanes[1]);
  const Mask dead[2] = {lanes[0].dead, lanes[1].dead};
  const Mask bad[2] = {lanes[0].bad, lanes[1].bad};
  lanes[0].scale = lanes[0].inverse = lanes[0].start = hn::Zero(kF);
  lanes[1].scale = lanes[1].inverse = lanes[1].start = hn::Zero(kF);
  if (!hn::AllTrue(kF, hn::And(dead[0], dead[1]))) {
    const Float top = splat(numerators.top);
    fit_bounds<kAbsolute>(g[0], numerators.top, lanes[0]);
    fit_bounds<kAbsolute>(g[1], numerators.top, lanes[1]);
    size_t k = 0;
    for (; k < numerators.unlimited; ++k) {
      try_candidate<kAbsolute, false>(g, splat(numerators.values[k]), top, lanes);
    }
    for (; k < numerators.count; ++k) {
      try_candidate<kAbsolute, true>(g, splat(numerators.values[k]), top, lanes);
    }
  }
  for (size_t i = 0; i < 2; ++i) {  // a dead lane's quotients are Inf, without effect
    lanes[i].bad = hn::Or(bad[i], hn::AndNot(dead[i], lanes[i].bad));
    lanes[i].dead = dead[i];
    store_found(lanes[i], at + i * kLanes, out);
  }
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_AFFINE_H
