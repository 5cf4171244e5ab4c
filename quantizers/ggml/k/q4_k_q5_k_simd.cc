// Q4_K and Q5_K encoders with vectors: the bytes of encode_q4_k_scalar and encode_q5_k_scalar.
//
// A step is two groups of lanes, one sub-block of 32 values in each lane:
//
//   load, transpose -> weights and bounds -> search (q4_k_q5_k_simd_search.h) -> for each block:
//   6-bit levels of the 8 scales and minimums -> final codes in memory order -> packed bytes
//
// A step whose lanes are all constant skips the search. Tiny ranges, whose quotients overflow, take
// a second copy of the search with ggml's rounding in full. A block with Inf, NaN or numbers whose
// squares overflow is done again by the scalar function; its neighbors are not touched.
// The last blocks, less than a step, are copied into a step of their own.
//
// Note: the levels wrap as bytes before they are limited to 63, and a
// sub-block whose rounded scale is 0 keeps the codes of its search.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/model/float_convert.h"
#include "quantizers/ggml/k/k_quants.h"
#include "quantizers/simd/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/k/q4_k_q5_k_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/ggml/k/q4_k_q5_k_simd_search.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kBlock = 256;
constexpr size_t kSubs = 8;
constexpr size_t kStepSubs = 2 * kLanes;
constexpr size_t kStepBlocks = kStepSubs / kSubs;

template <class Block>
constexpr bool kFiveBits = requires(Block block) {
  block.high_bits;
};
template <class Block>
constexpr int32_t kTop = kFiveBits<Block> ? 31 : 15;

template <class Block>
Search make_search() {
  constexpr bool kFive = kFiveBits<Block>;
  Search search{static_cast<float>(kTop<Block>), kFive ? 16u : 21u, {}};
  const float first = kFive ? -0.5f : -1.0f;
  for (size_t k = 0; k < search.candidates; ++k) {
    search.numerators[k] = first + 0.1f * static_cast<float>(k) + search.top;
  }
  return search;
}

// Results of the search of a step, by sub-block.
struct alignas(64) Found {
  float scales[kStepSubs];
  float minimums[kStepSubs];
  float inverses[kStepSubs];  // codes of the search: round(inverse (x - start))
  float starts[kStepSubs];
  float weights[kStepSubs];  // sums; Inf or NaN where the values were
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

// Scales or minimums of one block as stored.
struct Levels {
  float step;  // f32 of the half float
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

inline void pack_levels(const uint8_t* s, const uint8_t* m, uint8_t* packed) {
  for (size_t j = 0; j < 4; ++j) {
    packed[j] = static_cast<uint8_t>(s[j] | (s[j + 4] >> 4) << 6);
    packed[j + 4] = static_cast<uint8_t>(m[j] | (m[j + 4] >> 4) << 6);
    packed[j + 8] = static_cast<uint8_t>((s[j + 4] & 15) | (m[j + 4] & 15) << 4);
  }
}

// Final codes of one sub-block: round((x + minimum) / scale), or of the search when scale is 0.
struct Rounding {
  float scale, minimum, inverse, start;
};

// Codes as rounding leaves them: 0x400000 + code.
template <int32_t kTopCode>
HWY_INLINE Int raw_codes(const float* values, const Rounding& r) {
  const Float x = hn::LoadU(kF, values);
  const Float scaled = r.scale == 0 ? hn::Mul(splat(r.inverse), hn::Sub(x, splat(r.start)))
                                    : hn::Div(hn::Add(x, splat(r.minimum)), splat(r.scale));
  const Int bits = hn::And(bits_of(hn::Add(scaled, splat(12582912.0f))), splat_int(0x007FFFFF));
  return clamp_int(bits, 0x00400000, 0x00400000 + kTopCode);
}

// Only low bytes are stored, so higher bits may hold anything.
template <class Block>
HWY_INLINE void pack_codes(const float* values, const Rounding* roundings, Block& out) {
  for (size_t i = 0; i < kSub; i += kLanes) {
    Int high = splat_int(0);
    for (size_t c = 0; c < kSubs / 2; ++c) {
      const float* pair = values + 64 * c + i;
      const Int a = raw_codes<kTop<Block>>(pair, roundings[2 * c]);
      const Int b = raw_codes<kTop<Block>>(pair + kSub, roundings[2 * c + 1]);
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
  pack_levels(scales.levels, minimums.levels, out.scales);
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

constexpr SimdTable<decltype(encode_q4_k_scalar)> kFourBits =
    CKPT_SIMD_TABLE(encode_q4_k_scalar, encode_four_bits);
constexpr SimdTable<decltype(encode_q5_k_scalar)> kFiveBits =
    CKPT_SIMD_TABLE(encode_q5_k_scalar, encode_five_bits);

void encode_q4_k(const float* values, uint64_t blocks, BlockQ4K* out) {
  simd_function(kFourBits)(values, blocks, out);
}
void encode_q5_k(const float* values, uint64_t blocks, BlockQ5K* out) {
  simd_function(kFiveBits)(values, blocks, out);
}

}  // namespace ckpt
#endif  // HWY_ONCE
