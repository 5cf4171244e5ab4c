// The Q6_K encoder with vectors: the bytes of encode_q6_k_scalar.
//
// A group has one sub-block of 16 values per lane; a step is four groups. Per lane:
//
//   inverse[k] = -(32 + 0.1 k) / (value of largest magnitude)             k = 0, -9..-1, 1..9
//   for e = 0..15:  l = clamp(round(inverse[k] x), -32, 31);  P[k] += (x^3) l;  Q[k] += (x^2 l) l
//   in the order of k: if Q > 0 and P^2 > best Q: scale = P / Q, best = scale P, keep inverse
//
// The candidates are independent, so several share a pass over the values. Then each block gets
// 8-bit scales, final codes in memory order and packed bytes. A block with Inf, NaN or huge numbers
// is encoded again by the scalar function. The last blocks, fewer than a step, are copied into a
// separate step.
//
// Note: candidates are compared by cross-multiplication, not by quotients; the first of equal
// magnitudes gives the sign; zero sub-blocks keep code 0, which represents -32; sub-blocks whose
// rounded scale is 0 keep the codes of their search.
#include <cmath>
#include <cstring>

#include "core/model/float_convert.h"
#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_quants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/k/q6_k_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/rows.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kBlock = 256;
constexpr size_t kSub = 16;
constexpr size_t kSubs = 16;
constexpr size_t kGroups = 4;
constexpr size_t kStepBlocks = kGroups * kLanes / kSubs;
constexpr float kZeroMagnitude = 1e-15f;
constexpr float kHugeSquares = 1e22f;  // smaller sums of squares never overflow later

struct alignas(64) Scratch {
  float x[kSub * kLanes];
  float square[kSub * kLanes];
  float cube[kSub * kLanes];
};

// The results of a step's searches, by sub-block.
struct alignas(64) Found {
  float scales[kGroups * kLanes];
  float inverses[kGroups * kLanes];  // codes of the search: round(inverse x - offset) + 32
  float offsets[kGroups * kLanes];   // 0, or 32 for zero sub-blocks, whose inverse is 0
  float squares[kGroups * kLanes];   // sums
};

struct BestScale {
  Float scale, score, inverse;
};

// The sums P and Q of one candidate.
struct Sums {
  Float p, q;
};

// Returns clamp(round(v), -32, 31) for |v| <= 32 + 0.1 kCandidate, without needless clamps.
template <int kCandidate>
HWY_INLINE Float round_level(Float v) {
  Float level = hn::Round(v);
  if constexpr (kCandidate >= -5) level = hn::Min(level, splat(31.0f));
  if constexpr (kCandidate >= 5) {  // below 0, larger magnitudes are larger integers
    level = hn::BitCast(kF, hn::Min(hn::BitCast(kW, level), hn::BitCast(kW, splat(-32.0f))));
  }
  return level;
}

template <int kCandidate>
HWY_INLINE void add_level(const Scratch& g, size_t e, Float inverse, Sums& sums) {
  const Float level = round_level<kCandidate>(hn::Mul(inverse, vector_at(g.x, e)));
  sums.p = hn::Add(sums.p, hn::Mul(vector_at(g.cube, e), level));
  sums.q = hn::Add(sums.q, hn::Mul(hn::Mul(vector_at(g.square, e), level), level));
}

template <int kCandidate>
HWY_INLINE Float inverse_of(Float extreme) {
  const float steps = 32.0f + 0.1f * static_cast<float>(kCandidate);
  return hn::Div(splat(-steps), extreme);
}

HWY_INLINE void start(const Sums& sums, Float inverse, BestScale& best) {
  const Mask none = hn::Eq(sums.q, hn::Zero(kF));
  best.scale = hn::IfThenElse(none, hn::Zero(kF), hn::Div(sums.p, sums.q));
  best.score = hn::Mul(best.scale, sums.p);
  best.inverse = inverse;
}

// A term of Q is 0 only if x^2 or l is; P's term is then 0 too, so Q > 0 need not be tested.
HWY_INLINE void compare(const Sums& sums, Float inverse, BestScale& best) {
  const Mask better = hn::Gt(hn::Mul(sums.p, sums.p), hn::Mul(best.score, sums.q));
  const Float scale = hn::Div(sums.p, sums.q);
  best.scale = hn::IfThenElse(better, scale, best.scale);
  best.score = hn::IfThenElse(better, hn::Mul(scale, sums.p), best.score);
  best.inverse = hn::IfThenElse(better, inverse, best.inverse);
}

// Tries some candidates in one pass over the values. Candidate 0 is the start and not compared.
template <int... kCandidates>
HWY_INLINE void try_candidates(const Scratch& g, Float extreme, BestScale& best) {
  constexpr size_t kCount = sizeof...(kCandidates);
  const Float zero = hn::Zero(kF);
  Float inverses[kCount] = {inverse_of<kCandidates>(extreme)...};
  Sums sums[kCount];
  for (Sums& each : sums) each = {zero, zero};
  for (size_t e = 0; e < kSub; ++e) {
    size_t j = 0;
    ((add_level<kCandidates>(g, e, inverses[j], sums[j]), ++j), ...);
  }
  size_t j = 0;
  ((kCandidates == 0 ? start(sums[j], inverses[j], best) : compare(sums[j], inverses[j], best),
    ++j),
   ...);
}

HWY_INLINE void search(const Scratch& g, Float extreme, BestScale& best) {
  try_candidates<0, -9, -8, -7, -6>(g, extreme, best);
  try_candidates<-5, -4, -3, -2, -1>(g, extreme, best);
  try_candidates<1, 2, 3, 4>(g, extreme, best);
  try_candidates<5, 6, 7, 8, 9>(g, extreme, best);
}

// Returns the values of largest magnitude, and computes squares and cubes.
HWY_INLINE Float prepare(Scratch& g, Float& magnitude, Float& squares) {
  Float extreme = hn::Zero(kF);
  magnitude = squares = extreme;
  for (size_t e = 0; e < kSub; ++e) {
    const Float x = vector_at(g.x, e);
    const Float square = hn::Mul(x, x);
    hn::Store(square, kF, g.square + e * kLanes);
    hn::Store(hn::Mul(square, x), kF, g.cube + e * kLanes);
    squares = hn::Add(squares, square);
    const Mask larger = hn::Gt(hn::Abs(x), magnitude);
    magnitude = hn::IfThenElse(larger, hn::Abs(x), magnitude);
    extreme = hn::IfThenElse(larger, x, extreme);
  }
  return extreme;
}

HWY_INLINE void search_group(const float* values, size_t at, Found& found) {
  const Float zero = hn::Zero(kF);
  Scratch g;
  transpose_neighbors(values, kSub, g.x);
  Float magnitude, squares;
  const Float extreme = prepare(g, magnitude, squares);
  const Mask dead = hn::Lt(magnitude, splat(kZeroMagnitude));
  BestScale best{zero, zero, zero};
  if (!hn::AllTrue(kF, dead)) search(g, extreme, best);
  hn::Store(hn::IfThenElse(dead, zero, best.scale), kF, found.scales + at);
  hn::Store(hn::IfThenElse(dead, zero, best.inverse), kF, found.inverses + at);
  hn::Store(hn::IfThenElse(dead, splat(32.0f), zero), kF, found.offsets + at);
  hn::Store(squares, kF, found.squares + at);
}

// Returns the scale of largest magnitude, the first among equals; 0 if all are 0.
HWY_INLINE float find_extreme(const float* scales) {
  Float largest = hn::Zero(kF);
  for (size_t j = 0; j < kSubs; j += kLanes) {
    const Float magnitude = hn::Abs(hn::Load(kF, scales + j));
    largest = hn::IfThenElse(hn::Gt(magnitude, largest), magnitude, largest);
  }
  largest = hn::MaxOfLanes(kF, largest);
  for (size_t j = 0; j < kSubs; j += kLanes) {
    const auto at = hn::FindFirstTrue(kF, hn::Eq(hn::Abs(hn::Load(kF, scales + j)), largest));
    if (at >= 0) return scales[j + static_cast<size_t>(at)];
  }
  return 0;
}

// Parameters of code - 32 = round(x / divisor), or round(inverse x - offset) if the divisor is 0.
struct Rounding {
  float divisor, inverse, offset;
};

// Returns codes in the form of the rounding: 0x400000 + code - 32. The low four bits are final.
HWY_INLINE Int raw_codes(const float* values, const Rounding& r) {
  const Float x = hn::LoadU(kF, values);
  const Float scaled = r.divisor == 0 ? hn::Sub(hn::Mul(splat(r.inverse), x), splat(r.offset))
                                      : hn::Div(x, splat(r.divisor));
  const Int bits = hn::And(bits_of(hn::Add(scaled, splat(12582912.0f))), splat_int(0x007FFFFF));
  return clamp_int(bits, 0x00400000 - 32, 0x00400000 + 31);
}

HWY_INLINE void pack_codes(const float* values, const Rounding* roundings, BlockQ6K& out) {
  const Int low = splat_int(15);
  for (size_t half = 0; half < 2; ++half) {
    for (size_t l = 0; l < 32; l += kLanes) {
      const float* x = values + 128 * half + l;
      const Rounding* r = roundings + 8 * half + l / kSub;
      const Int a = raw_codes(x, r[0]), b = raw_codes(x + 32, r[2]);
      const Int c = raw_codes(x + 64, r[4]), d = raw_codes(x + 96, r[6]);
      uint8_t* low_bits = out.low_bits + 64 * half + l;
      store_low_bytes(hn::Or(hn::And(a, low), hn::ShiftLeft<4>(c)), low_bits);
      store_low_bytes(hn::Or(hn::And(b, low), hn::ShiftLeft<4>(d)), low_bits + 32);
      const Int ab = hn::Or(hn::And(hn::ShiftRight<4>(a), splat_int(0x03)),
                            hn::And(hn::ShiftRight<2>(b), splat_int(0x0C)));
      const Int cd =
          hn::Or(hn::And(c, splat_int(0x30)), hn::And(hn::ShiftLeft<2>(d), splat_int(0xC0)));
      const Int high = hn::Xor(hn::Or(ab, cd), splat_int(0xAA));  // adds 32 to four codes
      store_low_bytes(high, out.high_bits + 32 * half + l);
    }
  }
}

HWY_INLINE void finish_block(const float* values, const Found& found, size_t at, BlockQ6K& out) {
  const float extreme = find_extreme(found.scales + at);
  if (std::fabs(extreme) < kZeroMagnitude) {
    std::memset(&out, 0, sizeof(out));
    return;
  }
  const float inverse = -128.0f / extreme;
  out.d = f16_from_float(1 / inverse);
  const float step = float_from_f16(out.d);
  alignas(64) int32_t levels[kSubs];
  for (size_t j = 0; j < kSubs; j += kLanes) {
    const Float scaled = hn::Mul(splat(inverse), hn::Load(kF, found.scales + at + j));
    hn::Store(hn::Min(round_to_int_lanes(scaled), splat_int(127)), kI, levels + j);
  }
  Rounding roundings[kSubs];
  for (size_t j = 0; j < kSubs; ++j) {
    out.scales[j] = static_cast<int8_t>(levels[j]);
    roundings[j] = {step * static_cast<float>(out.scales[j]), found.inverses[at + j],
                    found.offsets[at + j]};
  }
  pack_codes(values, roundings, out);
}

HWY_INLINE bool is_moderate(const float* squares) {
  float total = 0;
  for (size_t j = 0; j < kSubs; ++j) total += squares[j];
  return total < kHugeSquares;  // false if NaN
}

HWY_INLINE void encode_step(const float* values, BlockQ6K* out) {
  Found found;
  for (size_t i = 0; i < kGroups; ++i) search_group(values + i * kSub * kLanes, i * kLanes, found);
  for (size_t b = 0; b < kStepBlocks; ++b) {
    const float* block_values = values + kBlock * b;
    if (is_moderate(found.squares + kSubs * b)) {
      finish_block(block_values, found, kSubs * b, out[b]);
    } else {
      encode_q6_k_scalar(block_values, 1, out + b);
    }
  }
}

void encode(const float* values, uint64_t blocks, BlockQ6K* out) {
  uint64_t done = 0;
  for (; done + kStepBlocks <= blocks; done += kStepBlocks) {
    encode_step(values + kBlock * done, out + done);
  }
  if (done == blocks) return;
  const size_t rest = static_cast<size_t>(blocks - done);
  alignas(64) float step_values[kStepBlocks * kBlock] = {};
  BlockQ6K step[kStepBlocks];
  std::memcpy(step_values, values + kBlock * done, rest * kBlock * sizeof(float));
  encode_step(step_values, step);
  std::memcpy(out + done, step, rest * sizeof(BlockQ6K));
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_ENCODER(encode_q6_k, encode, BlockQ6K)

}  // namespace ckpt
#endif  // HWY_ONCE
