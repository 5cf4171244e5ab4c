// The search of Q4_K and Q5_K for scale and minimum, one sub-block of 32 values in each lane.
//
// Per lane and candidate k, all in float, each operation rounded (fit_affine of scale_search.h):
//
//   i = numerator[k] / (high - low)
//   for e = 0..31:  l = clamp(round(i (x - low)));  A += w l;  B += (w l) l;  C += (w l) x
//   D = W B - A A;  s = (W C - X A) / D;  m = (B X - A C) / D;  if m > 0: m = 0, s = C / B
//   for e = 0..31:  E += w ((s l + m) - x)^2
//   if D > 0 and E < best: keep E, s, i, low;  low = m
//
// Two groups of lanes take turns: while the divisions of one wait, the sums of the other run.
// Reading and rounding of four values are mixed with the sums of the four before.
//
// What a reader would get wrong: a candidate starts from the `low` that the last accepted one left,
// so candidates cannot be tried side by side. The sums run over e in order; lanes are independent.
// Included once for each target by q4_k_q5_k_simd.cc only.
#if defined(CKPT_Q4_K_Q5_K_SIMD_SEARCH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_Q4_K_Q5_K_SIMD_SEARCH_H
#undef CKPT_Q4_K_Q5_K_SIMD_SEARCH_H
#else
#define CKPT_Q4_K_Q5_K_SIMD_SEARCH_H
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "quantizers/k_quants_simd.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kSub = 32;
constexpr size_t kMaxCandidates = 21;

struct Search {
  float top;
  size_t candidates;
  float numerators[kMaxCandidates];
};

// One group: kLanes sub-blocks, vector e holds value e of each.
struct alignas(64) Scratch {
  float x[kSub * kLanes];
  float w[kSub * kLanes];
  float l[kSub * kLanes];
};

struct Lanes {
  V low, high, sum_w, sum_wx;
  V best, scale, inverse, start;   // start: the low that the winner started from
  M dead, odd;                     // all values alike; range below kTinyRange
};

// From here on every numerator / range is finite.
constexpr float kTinyRange = 1e-36f;

struct Sums {
  V a, b, c;
};

// max(v, 0) of numbers, min(v, top) of numbers >= 0: floats of one sign are ordered as integers.
HWY_INLINE V not_below_zero(V v) {
  return hn::BitCast(Floats(), hn::Max(hn::BitCast(Ints(), v), hn::Zero(Ints())));
}
HWY_INLINE V not_above(V v, V top) {
  return hn::BitCast(Floats(), hn::Min(hn::BitCast(Ints(), v), hn::BitCast(Ints(), top)));
}

enum class Range { kBelowTop, kAny, kOdd };

// clamp(round(v), 0, top). kBelowTop: v < top + 0.5; kOdd: v may be Inf or NaN.
template <Range kRange>
HWY_INLINE V round_level(V v, V top) {
  if constexpr (kRange == Range::kOdd) {
    const auto level = hn::Max(round_any(v), hn::Zero(Ints()));
    return hn::ConvertTo(Floats(), hn::Min(level, hn::ConvertTo(Ints(), top)));
  }
  const V level = not_below_zero(hn::Round(v));
  if constexpr (kRange == Range::kBelowTop) return level;
  return not_above(level, top);
}

// E += w ((s l + m) - x)^2
HWY_INLINE V add_error(V error, V level, V scale, V low, V x, V w) {
  const V difference = hn::Sub(hn::Add(hn::Mul(scale, level), low), x);
  return hn::Add(error, hn::Mul(w, hn::Mul(difference, difference)));
}

template <Range kRange>
HWY_INLINE V next_level(const Scratch& g, size_t e, V inverse, V low, V top) {
  return round_level<kRange>(hn::Mul(inverse, hn::Sub(load(g.x, e), low)), top);
}

HWY_INLINE void add_level(const Scratch& g, size_t e, V level, Sums& sums) {
  const V product = hn::Mul(load(g.w, e), level);
  sums.a = hn::Add(sums.a, product);
  sums.b = hn::Add(sums.b, hn::Mul(product, level));
  sums.c = hn::Add(sums.c, hn::Mul(product, load(g.x, e)));
}

template <Range kRange>
HWY_INLINE Sums sum_levels(Scratch& g, V inverse, V low, V top) {
  const Floats d;
  Sums sums{hn::Zero(d), hn::Zero(d), hn::Zero(d)};
#if 0
  HWY_UNROLL(4)
  for (size_t e = 0; e < kSub; ++e) {
    const V level = next_level<kRange>(g, e, inverse, low, top);
    hn::Store(level, d, g.l + e * kLanes);
    add_level(g, e, level, sums);
  }
#else
  V l0 = next_level<kRange>(g, 0, inverse, low, top);
  V l1 = next_level<kRange>(g, 1, inverse, low, top);
  V l2 = next_level<kRange>(g, 2, inverse, low, top);
  V l3 = next_level<kRange>(g, 3, inverse, low, top);
  for (size_t e = 0; e < kSub - 4; e += 4) {
    const V n0 = next_level<kRange>(g, e + 4, inverse, low, top);
    add_level(g, e, l0, sums);
    hn::Store(l0, d, g.l + e * kLanes);
    const V n1 = next_level<kRange>(g, e + 5, inverse, low, top);
    add_level(g, e + 1, l1, sums);
    hn::Store(l1, d, g.l + (e + 1) * kLanes);
    const V n2 = next_level<kRange>(g, e + 6, inverse, low, top);
    add_level(g, e + 2, l2, sums);
    hn::Store(l2, d, g.l + (e + 2) * kLanes);
    const V n3 = next_level<kRange>(g, e + 7, inverse, low, top);
    add_level(g, e + 3, l3, sums);
    hn::Store(l3, d, g.l + (e + 3) * kLanes);
    l0 = n0, l1 = n1, l2 = n2, l3 = n3;
  }
  hn::Store(l0, d, g.l + 28 * kLanes);
  hn::Store(l1, d, g.l + 29 * kLanes);
  hn::Store(l2, d, g.l + 30 * kLanes);
  hn::Store(l3, d, g.l + 31 * kLanes);
  add_level(g, 28, l0, sums);
  add_level(g, 29, l1, sums);
  add_level(g, 30, l2, sums);
  add_level(g, 31, l3, sums);
#endif
  return sums;
}

HWY_INLINE V sum_error(const Scratch& g, V scale, V low) {
  V error = hn::Zero(Floats());
  HWY_UNROLL(4)
  for (size_t e = 0; e < kSub; ++e) {
    error = add_error(error, load(g.l, e), scale, low, load(g.x, e), load(g.w, e));
  }
  return error;
}

// Bounds of the values, their weights (into g.w) and the weights' sums.
HWY_INLINE void weigh(Scratch& g, Lanes& lanes) {
  const Floats d;
  V low = load(g.x, 0), high = low, squares = hn::Zero(d);
  for (size_t e = 0; e < kSub; ++e) {
    const V x = load(g.x, e);
    low = hn::IfThenElse(hn::Lt(x, low), x, low);
    high = hn::IfThenElse(hn::Gt(x, high), x, high);
    squares = hn::Add(squares, hn::Mul(x, x));
  }
  const V mean = hn::Sqrt(hn::Div(squares, vector_of(32.0f)));
  for (size_t e = 0; e < kSub; ++e) {
    const V x = load(g.x, e);
    const V w = hn::Add(mean, hn::Abs(x));
    hn::Store(w, d, g.w + e * kLanes);
    const V product = hn::Mul(w, x);
    lanes.sum_w = e == 0 ? w : hn::Add(lanes.sum_w, w);
    lanes.sum_wx = e == 0 ? product : hn::Add(lanes.sum_wx, product);
  }
  lanes.low = hn::IfThenElse(hn::Gt(low, hn::Zero(d)), hn::Zero(d), low);
  lanes.high = high;
  lanes.dead = hn::Eq(high, lanes.low);
  lanes.odd = hn::AndNot(lanes.dead, hn::Lt(hn::Sub(high, lanes.low), vector_of(kTinyRange)));
}

// The first fit, from the bounds alone.
template <bool kOdd>
HWY_INLINE void fit_bounds(Scratch& g, const Search& search, Lanes& lanes) {
  constexpr Range kRange = kOdd ? Range::kOdd : Range::kBelowTop;
  const V top = vector_of(search.top);
  lanes.inverse = hn::Div(top, hn::Sub(lanes.high, lanes.low));
  lanes.scale = hn::Div(vector_of(1.0f), lanes.inverse);
  lanes.start = lanes.low;
  V error = hn::Zero(Floats());
  for (size_t e = 0; e < kSub; ++e) {
    const V level = next_level<kRange>(g, e, lanes.inverse, lanes.low, top);
    error = add_error(error, level, lanes.scale, lanes.low, load(g.x, e), load(g.w, e));
  }
  lanes.best = error;
}

struct Candidate {
  V inverse, scale, low, determinant;
};

HWY_INLINE Candidate solve(const Lanes& lanes, const Sums& sums, V inverse) {
  const V zero = hn::Zero(Floats());
  Candidate out;
  out.inverse = inverse;
  out.determinant = hn::Sub(hn::Mul(lanes.sum_w, sums.b), hn::Mul(sums.a, sums.a));
  out.scale = hn::Div(hn::Sub(hn::Mul(lanes.sum_w, sums.c), hn::Mul(lanes.sum_wx, sums.a)),
                      out.determinant);
  out.low = hn::Div(hn::Sub(hn::Mul(sums.b, lanes.sum_wx), hn::Mul(sums.a, sums.c)),
                    out.determinant);
  const M positive = hn::Gt(out.low, zero);
  if (!hn::AllFalse(Floats(), positive)) {
    out.scale = hn::IfThenElse(positive, hn::Div(sums.c, sums.b), out.scale);
    out.low = hn::IfThenElse(positive, zero, out.low);
  }
  return out;
}

HWY_INLINE void accept(Lanes& lanes, const Candidate& candidate, V error) {
  const M better = hn::And(hn::Gt(candidate.determinant, hn::Zero(Floats())),
                           hn::Lt(error, lanes.best));
  lanes.best = hn::IfThenElse(better, error, lanes.best);
  lanes.scale = hn::IfThenElse(better, candidate.scale, lanes.scale);
  lanes.inverse = hn::IfThenElse(better, candidate.inverse, lanes.inverse);
  lanes.start = hn::IfThenElse(better, lanes.low, lanes.start);
  lanes.low = hn::IfThenElse(better, candidate.low, lanes.low);
}

template <Range kRange>
HWY_INLINE void try_candidate(Scratch* g, Lanes& p, Lanes& q, V numerator, V top) {
  const V inverse_p = hn::Div(numerator, hn::Sub(p.high, p.low));
  const V inverse_q = hn::Div(numerator, hn::Sub(q.high, q.low));
  const Candidate next_p = solve(p, sum_levels<kRange>(g[0], inverse_p, p.low, top), inverse_p);
  const Candidate next_q = solve(q, sum_levels<kRange>(g[1], inverse_q, q.low, top), inverse_q);
  accept(p, next_p, sum_error(g[0], next_p.scale, next_p.low));
  accept(q, next_q, sum_error(g[1], next_q.scale, next_q.low));
}

template <bool kOdd>
HWY_INLINE void search_groups(Scratch* g, const Search& search, Lanes& p, Lanes& q) {
  const V top = vector_of(search.top);
  fit_bounds<kOdd>(g[0], search, p);
  fit_bounds<kOdd>(g[1], search, q);
  size_t k = 0;
  if constexpr (!kOdd) {
    for (; k < search.candidates && search.numerators[k] < search.top + 0.4f; ++k) {
      try_candidate<Range::kBelowTop>(g, p, q, vector_of(search.numerators[k]), top);
    }
  }
  constexpr Range kRange = kOdd ? Range::kOdd : Range::kAny;
  for (; k < search.candidates; ++k) {
    try_candidate<kRange>(g, p, q, vector_of(search.numerators[k]), top);
  }
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_Q4_K_Q5_K_SIMD_SEARCH_H
