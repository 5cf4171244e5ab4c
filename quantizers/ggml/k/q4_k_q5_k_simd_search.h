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
// Two groups of lanes take turns: while the divisions of one wait, the sums of the other run. Where
// there are 32 registers, four values are rounded among the sums of the four before.
//
// Note: a candidate starts from the `low` that the last accepted one left,
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
#include "quantizers/simd/rows.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kSub = 32;
constexpr size_t kMaxCandidates = 21;
constexpr size_t kAhead = 4;

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
  Float low, high, sum_w, sum_wx;
  Float best, scale, inverse, start;  // start: the low that the winner started from
  Mask dead, odd;                     // all values alike; range below kTinyRange
};

// From here on every numerator / range is finite.
constexpr float kTinyRange = 1e-36f;

struct Sums {
  Float a, b, c;
};

// A fitted scale and minimum.
struct Candidate {
  Float inverse, scale, low, determinant;
};

// E + w ((s l + m) - x)^2
HWY_INLINE Float add_error(const Scratch& g, size_t e, Float level, const Candidate& fit,
                           Float error) {
  const Float fitted = hn::Add(hn::Mul(fit.scale, level), fit.low);
  const Float difference = hn::Sub(fitted, vector_at(g.x, e));
  return hn::Add(error, hn::Mul(vector_at(g.w, e), hn::Mul(difference, difference)));
}

enum class Range { kBelowTop, kAny, kOdd };

// clamp(round(v), 0, top). kBelowTop: v < top + 0.5; kOdd: v may be Inf or NaN.
template <Range kRange>
HWY_INLINE Float round_level(Float v, Float top) {
  if constexpr (kRange == Range::kOdd) {
    const auto level = hn::Max(round_to_int_lanes(v), splat_int(0));
    return hn::ConvertTo(kF, hn::Min(level, hn::ConvertTo(kI, top)));
  }
  const Float level = limit_low_zero(hn::Round(v));
  if constexpr (kRange == Range::kBelowTop) return level;
  return limit_high(level, top);
}

// Where a candidate starts from.
struct Start {
  Float inverse, low, top;
};

template <Range kRange>
HWY_INLINE Float next_level(const Scratch& g, size_t e, const Start& start) {
  const Float above = hn::Sub(vector_at(g.x, e), start.low);
  return round_level<kRange>(hn::Mul(start.inverse, above), start.top);
}

HWY_INLINE void add_level(const Scratch& g, size_t e, Float level, Sums& sums) {
  const Float product = hn::Mul(vector_at(g.w, e), level);
  sums.a = hn::Add(sums.a, product);
  sums.b = hn::Add(sums.b, hn::Mul(product, level));
  sums.c = hn::Add(sums.c, hn::Mul(product, vector_at(g.x, e)));
}

// Rounds value e and adds value e - kAhead: multiplications of one overlap additions of the other.
template <Range kRange>
HWY_INLINE Float step_ahead(Scratch& g, size_t e, Float ahead, Sums& sums, const Start& start) {
  const Float level = next_level<kRange>(g, e, start);
  add_level(g, e - kAhead, ahead, sums);
  hn::Store(ahead, kF, g.l + (e - kAhead) * kLanes);
  return level;
}

template <Range kRange>
HWY_INLINE Sums sum_levels_ahead(Scratch& g, const Start& start) {
  const Float zero = hn::Zero(kF);
  Sums sums{zero, zero, zero};
  Float l0 = next_level<kRange>(g, 0, start), l1 = next_level<kRange>(g, 1, start);
  Float l2 = next_level<kRange>(g, 2, start), l3 = next_level<kRange>(g, 3, start);
  for (size_t e = kAhead; e < kSub; e += kAhead) {
    l0 = step_ahead<kRange>(g, e, l0, sums, start);
    l1 = step_ahead<kRange>(g, e + 1, l1, sums, start);
    l2 = step_ahead<kRange>(g, e + 2, l2, sums, start);
    l3 = step_ahead<kRange>(g, e + 3, l3, sums, start);
  }
  const Float last[kAhead] = {l0, l1, l2, l3};
  for (size_t i = 0; i < kAhead; ++i) {
    hn::Store(last[i], kF, g.l + (kSub - kAhead + i) * kLanes);
    add_level(g, kSub - kAhead + i, last[i], sums);
  }
  return sums;
}

// A, B and C of a candidate; leaves its levels in g.l.
template <Range kRange>
HWY_INLINE Sums sum_levels(Scratch& g, const Start& start) {
  if constexpr (kLanes == 16) return sum_levels_ahead<kRange>(g, start);  // has the registers
  const Float zero = hn::Zero(kF);
  Sums sums{zero, zero, zero};
  HWY_UNROLL(4)
  for (size_t e = 0; e < kSub; ++e) {
    const Float level = next_level<kRange>(g, e, start);
    hn::Store(level, kF, g.l + e * kLanes);
    add_level(g, e, level, sums);
  }
  return sums;
}

// Bounds of the values, their weights (into g.w) and the weights' sums.
HWY_INLINE void weigh(Scratch& g, Lanes& lanes) {
  Float low = vector_at(g.x, 0), high = low, squares = hn::Zero(kF);
  for (size_t e = 0; e < kSub; ++e) {
    const Float x = vector_at(g.x, e);
    low = hn::Min(x, low);  // the sign of a zero does not matter, blocks with NaN are done again
    high = hn::Max(x, high);
    squares = hn::Add(squares, hn::Mul(x, x));
  }
  const Float mean = hn::Sqrt(hn::Div(squares, splat(32.0f)));
  for (size_t e = 0; e < kSub; ++e) {
    const Float x = vector_at(g.x, e);
    const Float w = hn::Add(mean, hn::Abs(x));
    hn::Store(w, kF, g.w + e * kLanes);
    const Float product = hn::Mul(w, x);
    lanes.sum_w = e == 0 ? w : hn::Add(lanes.sum_w, w);
    lanes.sum_wx = e == 0 ? product : hn::Add(lanes.sum_wx, product);
  }
  lanes.low = hn::IfThenElse(hn::Gt(low, hn::Zero(kF)), hn::Zero(kF), low);
  lanes.high = high;
  lanes.dead = hn::Eq(high, lanes.low);
  lanes.odd = hn::AndNot(lanes.dead, hn::Lt(hn::Sub(high, lanes.low), splat(kTinyRange)));
}

// The first fit, from the bounds alone.
template <bool kOdd>
HWY_INLINE void fit_bounds(Scratch& g, const Search& search, Lanes& lanes) {
  constexpr Range kRange = kOdd ? Range::kOdd : Range::kBelowTop;
  const Float top = splat(search.top);
  lanes.inverse = hn::Div(top, hn::Sub(lanes.high, lanes.low));
  lanes.scale = hn::Div(splat(1.0f), lanes.inverse);
  lanes.start = lanes.low;
  const Start start{lanes.inverse, lanes.low, top};
  const Candidate first{lanes.inverse, lanes.scale, lanes.low, top};
  Float error = hn::Zero(kF);
  for (size_t e = 0; e < kSub; ++e) {
    const Float level = next_level<kRange>(g, e, start);
    error = add_error(g, e, level, first, error);
  }
  lanes.best = error;
}

HWY_INLINE Candidate solve(const Lanes& lanes, const Sums& sums, Float inverse) {
  const Float zero = hn::Zero(kF);
  Candidate out;
  out.inverse = inverse;
  out.determinant = hn::Sub(hn::Mul(lanes.sum_w, sums.b), hn::Mul(sums.a, sums.a));
  out.scale = hn::Div(hn::Sub(hn::Mul(lanes.sum_w, sums.c), hn::Mul(lanes.sum_wx, sums.a)),
                      out.determinant);
  out.low =
      hn::Div(hn::Sub(hn::Mul(sums.b, lanes.sum_wx), hn::Mul(sums.a, sums.c)), out.determinant);
  const Mask positive = hn::Gt(out.low, zero);
  if (!hn::AllFalse(kF, positive)) {
    out.scale = hn::IfThenElse(positive, hn::Div(sums.c, sums.b), out.scale);
    out.low = hn::IfThenElse(positive, zero, out.low);
  }
  return out;
}

HWY_INLINE void accept(Lanes& lanes, const Candidate& candidate, Float error) {
  const Mask better =
      hn::And(hn::Gt(candidate.determinant, hn::Zero(kF)), hn::Lt(error, lanes.best));
  lanes.best = hn::IfThenElse(better, error, lanes.best);
  lanes.scale = hn::IfThenElse(better, candidate.scale, lanes.scale);
  lanes.inverse = hn::IfThenElse(better, candidate.inverse, lanes.inverse);
  lanes.start = hn::IfThenElse(better, lanes.low, lanes.start);
  lanes.low = hn::IfThenElse(better, candidate.low, lanes.low);
}

template <Range kRange>
HWY_INLINE Candidate fit(Scratch& g, const Lanes& lanes, Float numerator, Float top) {
  const Float inverse = hn::Div(numerator, hn::Sub(lanes.high, lanes.low));
  return solve(lanes, sum_levels<kRange>(g, {inverse, lanes.low, top}), inverse);
}

HWY_INLINE Float sum_error(const Scratch& g, const Candidate& fitted) {
  Float error = hn::Zero(kF);
  HWY_UNROLL(4)
  for (size_t e = 0; e < kSub; ++e) error = add_error(g, e, vector_at(g.l, e), fitted, error);
  return error;
}

template <Range kRange>
HWY_INLINE void try_candidate(Scratch* g, Lanes& p, Lanes& q, Float numerator, Float top) {
  const Candidate next_p = fit<kRange>(g[0], p, numerator, top);
  const Candidate next_q = fit<kRange>(g[1], q, numerator, top);
  accept(p, next_p, sum_error(g[0], next_p));
  accept(q, next_q, sum_error(g[1], next_q));
}

template <bool kOdd>
HWY_INLINE void search_groups(Scratch* g, const Search& search, Lanes& p, Lanes& q) {
  const Float top = splat(search.top);
  fit_bounds<kOdd>(g[0], search, p);
  fit_bounds<kOdd>(g[1], search, q);
  size_t k = 0;
  if constexpr (!kOdd) {
    for (; k < search.candidates && search.numerators[k] < search.top + 0.4f; ++k) {
      try_candidate<Range::kBelowTop>(g, p, q, splat(search.numerators[k]), top);
    }
  }
  constexpr Range kRange = kOdd ? Range::kOdd : Range::kAny;
  for (; k < search.candidates; ++k) {
    try_candidate<kRange>(g, p, q, splat(search.numerators[k]), top);
  }
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_Q4_K_Q5_K_SIMD_SEARCH_H
