// Q4_K and Q5_K encoders with vectors: the bytes of encode_q4_k_scalar and encode_q5_k_scalar.
//
// A step is two groups of lanes, with one sub-block of 32 values per lane:
//
//   load, transpose -> weights and bounds -> search (below) -> for each block:
//   6-bit levels of the 8 scales and minimums -> final codes in memory order -> packed bytes
//
// A step whose lanes are all constant skips the search. Tiny ranges, whose quotients overflow, use
// a second copy of the search with ggml's full rounding. A block with Inf, NaN or numbers whose
// squares overflow is encoded again by the scalar function, without its neighbors. The last blocks,
// fewer than a step, are copied into a separate step.
//
// Note: the levels wrap as bytes before they are limited to 63, and a
// sub-block whose rounded scale is 0 keeps the codes of its search.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/model/float_convert.h"
#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_levels.h"
#include "quantizers/ggml/k/k_quants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/k/q4_k_q5_k_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/ggml/affine.h"
#include "quantizers/simd/rows.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// The search of Q4_K and Q5_K for scale and minimum, one sub-block of 32 values per lane.
//
// Per lane and candidate k, all in float, each operation rounded (fit_affine of scale_search.h):
//
//   i = numerator[k] / (high - low)
//   for e = 0..31:  l = clamp(round(i (x - low)));  A += w l;  B += (w l) l;  C += (w l) x
//   D = W B - A A;  s = (W C - X A) / D;  m = (B X - A C) / D;  if m > 0: m = 0, s = C / B
//   for e = 0..31:  E += w ((s l + m) - x)^2
//   if D > 0 and E < best: keep E, s, i, low;  low = m
//
// Two groups of lanes alternate: while the divisions of one are pending, the other computes sums.
// With 32 registers, four values are rounded among the sums of the previous four.
//
// Note: a candidate starts from the `low` of the last accepted one, so candidates cannot be tried
// in parallel. The sums run over e in order; lanes are independent.

constexpr size_t kSub = 32;
constexpr size_t kMostNumerators = 21;
constexpr size_t kAhead = 4;

struct Search {
  float top;
  size_t candidates;
  float numerators[kMostNumerators];
};

// One group: kLanes sub-blocks, where vector e holds value e of each.
struct alignas(64) Scratch {
  float x[kSub * kLanes];
  float w[kSub * kLanes];
  float l[kSub * kLanes];
};

struct Lanes {
  Float low, high, sum_w, sum_wx;
  Float best, scale, inverse, start;  // start: the `low` of the winner
  Mask dead, odd;                     // all values equal; range below kTinyRange
};

// From this range on, every numerator / range is finite.
constexpr float kTinyRange = 1e-36f;

struct Sums {
  Float a, b, c;
};

// Returns E + w ((s l + m) - x)^2.
HWY_INLINE Float add_error(const Scratch& g, size_t e, Float level, const AffineCandidate& fit,
                           Float error) {
  const Float fitted = hn::Add(hn::Mul(fit.scale, level), fit.low);
  const Float difference = hn::Sub(fitted, vector_at(g.x, e));
  return hn::Add(error, hn::Mul(vector_at(g.w, e), hn::Mul(difference, difference)));
}

enum class Range { kBelowTop, kAny, kOdd };

// Returns clamp(round(v), 0, top). kBelowTop: v < top + 0.5; kOdd: v may be Inf or NaN.
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

// The values from which a candidate starts.
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

// Rounds value e and adds value e - kAhead, so that multiplications and additions overlap.
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

// Returns A, B and C of a candidate, and leaves its levels in g.l.
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

// Finds the values' bounds, their weights (in g.w) and the sum of the weights.
HWY_INLINE void weigh(Scratch& g, Lanes& lanes) {
  Float low = vector_at(g.x, 0), high = low, squares = hn::Zero(kF);
  for (size_t e = 0; e < kSub; ++e) {
    const Float x = vector_at(g.x, e);
    low = hn::Min(x, low);  // the sign of zero is irrelevant, and blocks with NaN are redone
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

// Makes the first fit, from the bounds alone.
template <bool kOdd>
HWY_INLINE void fit_bounds(Scratch& g, const Search& search, Lanes& lanes) {
  constexpr Range kRange = kOdd ? Range::kOdd : Range::kBelowTop;
  const Float top = splat(search.top);
  lanes.inverse = hn::Div(top, hn::Sub(lanes.high, lanes.low));
  lanes.scale = hn::Div(splat(1.0f), lanes.inverse);
  lanes.start = lanes.low;
  const Start start{lanes.inverse, lanes.low, top};
  const AffineCandidate first{lanes.inverse, lanes.scale, lanes.low, top};
  Float error = hn::Zero(kF);
  for (size_t e = 0; e < kSub; ++e) {
    const Float level = next_level<kRange>(g, e, start);
    error = add_error(g, e, level, first, error);
  }
  lanes.best = error;
}

template <Range kRange>
HWY_INLINE AffineCandidate fit(Scratch& g, const Lanes& lanes, Float numerator, Float top) {
  const Float inverse = hn::Div(numerator, hn::Sub(lanes.high, lanes.low));
  const Sums sums = sum_levels<kRange>(g, {inverse, lanes.low, top});
  return solve_affine(lanes, sums.a, sums.b, sums.c, inverse);
}

HWY_INLINE Float sum_error(const Scratch& g, const AffineCandidate& fitted) {
  Float error = hn::Zero(kF);
  HWY_UNROLL(4)
  for (size_t e = 0; e < kSub; ++e) error = add_error(g, e, vector_at(g.l, e), fitted, error);
  return error;
}

template <Range kRange>
HWY_INLINE void try_candidate(Scratch* g, Lanes& p, Lanes& q, Float numerator, Float top) {
  const AffineCandidate next_p = fit<kRange>(g[0], p, numerator, top);
  const AffineCandidate next_q = fit<kRange>(g[1], q, numerator, top);
  accept(next_p, sum_error(g[0], next_p), p);
  accept(next_q, sum_error(g[1], next_q), q);
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

constexpr size_t kBlock = 256;
constexpr size_t kSubs = 8;
constexpr size_t kStepSubs = 2 * kLanes;
constexpr size_t kStepBlocks = kStepSubs / kSubs;

template <class Block>
Search make_search() {
  constexpr bool kFive = kFiveBits<Block>;
  Search search{static_cast<float>(Block::kTop), kFive ? 16u : 21u, {}};
  const float first = kFive ? -0.5f : -1.0f;
  for (size_t k = 0; k < search.candidates; ++k) {
    search.numerators[k] = first + 0.1f * static_cast<float>(k) + search.top;
  }
  return search;
}

// The results of a step's searches, by sub-block.
struct alignas(64) Found {
  float scales[kStepSubs];
  float minimums[kStepSubs];
  float inverses[kStepSubs];  // codes of the search: round(inverse (x - start))
  float starts[kStepSubs];
  float weights[kStepSubs];  // sums; Inf or NaN if the values were
};

HWY_INLINE void store_found(const Lanes& lanes, size_t at, Found& found) {
  const Float zero = hn::Zero(kF);
  hn::Store(hn::IfThenElse(lanes.dead, zero, lanes.scale), kF, found.scales + at);
  hn::Store(hn::Sub(zero, lanes.low), kF, found.minimums + at);
  hn::Store(hn::IfThenElse(lanes.dead, zero, lanes.inverse), kF, found.inverses + at);
  hn::Store(hn::IfThenElse(lanes.dead, zero, lanes.start), kF, found.starts + at);
  hn::Store(lanes.sum_w, kF, found.weights + at);
}

HWY_INLINE void search_step(const float* values, const Search& search, Found& found) {
  Scratch g[2];
  Lanes p, q;
  transpose_neighbors(values, kSub, g[0].x);
  transpose_neighbors(values + kSub * kLanes, kSub, g[1].x);
  weigh(g[0], p);
  weigh(g[1], q);
  const bool all_dead = hn::AllTrue(kF, hn::And(p.dead, q.dead));
  if (all_dead) {
    p.scale = p.inverse = p.start = q.scale = q.inverse = q.start = hn::Zero(kF);
  } else if (hn::AllFalse(kF, hn::Or(p.odd, q.odd))) {
    search_groups<false>(g, search, p, q);
  } else {
    search_groups<true>(g, search, p, q);
  }
  store_found(p, 0, found);
  store_found(q, kLanes, found);
}

// The stored scales or minimums of one block.
struct Levels {
  float step;  // value of the half float
  uint16_t half;
  uint8_t levels[kSubs];
};

inline Levels round_levels(const float* values) {
  float largest = 0;
  for (size_t j = 0; j < kSubs; ++j) largest = values[j] > largest ? values[j] : largest;
  Levels out;
  out.half = f16_from_float(largest / 63.0f);
  out.step = float_from_f16(out.half);
  const float inverse = largest > 0 ? 63.0f / largest : 0.0f;
  const hn::CappedTag<float, kSubs> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<uint8_t, decltype(d)> db;
  for (size_t j = 0; j < kSubs; j += hn::Lanes(d)) {
    const auto scaled = hn::Mul(hn::Set(d, inverse), hn::LoadU(d, values + j));
    const auto bits = hn::BitCast(di, hn::Add(scaled, hn::Set(d, 12582912.0f)));
    const auto level = hn::Min(hn::And(bits, hn::Set(di, 255)), hn::Set(di, 63));
    hn::StoreU(hn::DemoteTo(db, level), db, out.levels + j);
  }
  return out;
}

// Final codes of one sub-block: round((x + minimum) / scale), or those of the search if scale is 0.
struct Rounding {
  float scale, minimum, inverse, start;
};

// Returns codes in the form of the rounding: 0x400000 + code.
template <int32_t kTopCode>
HWY_INLINE Int raw_codes(const float* values, const Rounding& r) {
  const Float x = hn::LoadU(kF, values);
  const Float scaled = r.scale == 0 ? hn::Mul(splat(r.inverse), hn::Sub(x, splat(r.start)))
                                    : hn::Div(hn::Add(x, splat(r.minimum)), splat(r.scale));
  const Int bits = hn::And(bits_of(hn::Add(scaled, splat(12582912.0f))), splat_int(0x007FFFFF));
  return clamp_int(bits, 0x00400000, 0x00400000 + kTopCode);
}

// Stores only low bytes, so higher bits may contain anything.
template <class Block>
HWY_INLINE void pack_codes(const float* values, const Rounding* roundings, Block& out) {
  for (size_t i = 0; i < kSub; i += kLanes) {
    Int high = splat_int(0);
    for (size_t c = 0; c < kSubs / 2; ++c) {
      const float* pair = values + 64 * c + i;
      const Int a = raw_codes<Block::kTop>(pair, roundings[2 * c]);
      const Int b = raw_codes<Block::kTop>(pair + kSub, roundings[2 * c + 1]);
      const Int low = kFiveBits<Block> ? hn::And(a, splat_int(15)) : a;
      store_low_bytes(hn::Or(low, hn::ShiftLeft<4>(b)), out.codes + 32 * c + i);
      if constexpr (kFiveBits<Block>) {  // bits 2c and 2c + 1
        const Int fifth_a = hn::And(hn::ShiftRight<4>(a), splat_int(1));
        const Int fifth_b = hn::And(hn::ShiftRight<3>(b), splat_int(2));
        const Int fifths = hn::Or(fifth_a, fifth_b);
        high = hn::Or(high, hn::ShiftLeftSame(fifths, static_cast<int>(2 * c)));
      }
    }
    if constexpr (kFiveBits<Block>) store_low_bytes(high, out.high_bits + i);
  }
}

template <class Block>
HWY_INLINE void finish_block(const float* values, const Found& found, size_t at, Block& out) {
  const Levels scales = round_levels(found.scales + at);
  const Levels minimums = round_levels(found.minimums + at);
  out.d = scales.half;
  out.dmin = minimums.half;
  ckpt::pack_levels(scales.levels, minimums.levels, out.scales);
  Rounding roundings[kSubs];
  for (size_t j = 0; j < kSubs; ++j) {
    roundings[j] = {scales.step * static_cast<float>(scales.levels[j]),
                    minimums.step * static_cast<float>(minimums.levels[j]), found.inverses[at + j],
                    found.starts[at + j]};
  }
  pack_codes(values, roundings, out);
}

HWY_INLINE bool is_finite(const float* sums) {
  float total = 0;
  for (size_t j = 0; j < kSubs; ++j) total += sums[j];
  return std::isfinite(total);
}

template <class Block>
HWY_INLINE void encode_step(const float* values, const Search& search, Block* out,
                            void (*scalar)(const float*, uint64_t, Block*)) {
  Found found;
  search_step(values, search, found);
  for (size_t b = 0; b < kStepBlocks; ++b) {
    const float* block_values = values + kBlock * b;
    if (is_finite(found.weights + kSubs * b)) {
      finish_block(block_values, found, kSubs * b, out[b]);
    } else {
      scalar(block_values, 1, out + b);
    }
  }
}

template <class Block>
HWY_INLINE void encode_blocks(const float* values, uint64_t blocks, Block* out,
                              void (*scalar)(const float*, uint64_t, Block*)) {
  const Search search = make_search<Block>();
  uint64_t done = 0;
  for (; done + kStepBlocks <= blocks; done += kStepBlocks) {
    encode_step(values + kBlock * done, search, out + done, scalar);
  }
  if (done == blocks) return;
  const size_t rest = static_cast<size_t>(blocks - done);
  alignas(64) float step_values[kStepBlocks * kBlock] = {};
  Block step[kStepBlocks];
  std::memcpy(step_values, values + kBlock * done, rest * kBlock * sizeof(float));
  encode_step(step_values, search, step, scalar);
  std::memcpy(out + done, step, rest * sizeof(Block));
}

void encode_four_bits(const float* values, uint64_t blocks, BlockQ4K* out) {
  encode_blocks(values, blocks, out, encode_q4_k_scalar);
}
void encode_five_bits(const float* values, uint64_t blocks, BlockQ5K* out) {
  encode_blocks(values, blocks, out, encode_q5_k_scalar);
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_ENCODER(encode_q4_k, encode_four_bits, BlockQ4K)
CKPT_SIMD_ENCODER(encode_q5_k, encode_five_bits, BlockQ5K)

}  // namespace ckpt
#endif  // HWY_ONCE
