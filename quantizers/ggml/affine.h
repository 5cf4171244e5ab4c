// fit_affine of scale_search.h with one run of values in each lane.
//
// Per lane and candidate k, all in float, each operation rounded:
//
//   i = numerator[k] / (high - low)
//   for each x:  l = clamp(round(i (x - low)), 0, top);  A += w l;  B += (w l) l;  C += (w l) x
//   D = W B - A A;  s = (W C - X A) / D;  m = (B X - A C) / D;  if m > 0: m = 0, s = C / B
//   for each x:  d = (s l + m) - x;  E += w d^2, or w |d|
//   if D > 0 and E < best: keep E, s, i, low;  low = m
//
// Two groups of lanes take turns: while the divisions of one wait, the sums of the other run.
//
// Note: an accepted candidate moves `low`, from which the next one starts,
// so candidates cannot be tried side by side. Codes are not kept: they are found again from i and
// the low in force (`start`). Lanes in which a product i (x - low) could leave the range where
// Round equals ggml's rounding are marked bad and mean nothing.
// Included once for each target by *_simd.cc files only.
#if defined(CKPT_SIMD_AFFINE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_AFFINE_H
#undef CKPT_SIMD_AFFINE_H
#else
#define CKPT_SIMD_AFFINE_H
#endif

#include "quantizers/ggml/affine_group.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// The first fit, from the bounds alone.
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

HWY_INLINE AffineCandidate solve_affine(const AffineLanes& lanes, Float a, Float b, Float c) {
  AffineCandidate out;
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

// Levels of a candidate into g.l, and its least-squares solution.
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
  AffineCandidate out = solve_affine(lanes, a, b, c);
  out.inverse = inverse;
  return out;
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

HWY_INLINE void accept(const AffineCandidate& candidate, Float error, AffineLanes& lanes) {
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
                                 const AffineFound& out) {
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
  for (size_t i = 0; i < 2; ++i) {  // a dead lane's quotients are Inf, which is harmless
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
