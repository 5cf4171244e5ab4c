// Kernels that encode Q8_0, Q4_0, Q4_1, Q5_0 and Q5_1 without weights.
//
// A strip is kLanes blocks of 32 values. Their extremes are first reduced to four numbers per
// block, then, transposed, to one lane per block; then scales are computed in lanes, and each block
// is rounded:
//
//   block b  | v v v v | v v v v | ...  -> | p p p p |  -> lane b  -> d, 1/d of block b  -> codes
//
// Extremes are compared as integers. Among the bits of all values of a block:
//   signed maximum     the largest positive value, if any is positive
//   unsigned maximum   the negative value of largest magnitude, if any is negative
//   unsigned minimum   the value nearest to zero among the positive or, without any, the negative
// Inf and NaN have bits from 0x7F800000 on.
//
// Note: the first of two equal magnitudes decides the sign of the scale, so blocks with a `tie` are
// searched in order. The scalar twin handles blocks with Inf or NaN, or with a scale so small that
// its inverse is Inf.
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/block/block_quants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/block/block_quants_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/rows.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kValues = 32;
constexpr size_t kVectors = kValues / kLanes;  // per block

struct Extremes {  // one lane per block
  Int signed_max;
  Word unsigned_max, unsigned_min;
};

// Four numbers per block from each reduction.
struct Partials {
  alignas(64) int32_t signed_max[kLanes * 4];
  alignas(64) uint32_t unsigned_max[kLanes * 4];
  alignas(64) uint32_t unsigned_min[kLanes * 4];
};

// The numbers needed to round a block.
struct Scales {
  alignas(64) float inverse[kLanes];
  alignas(64) float low[kLanes];  // value with code 0, in types with a minimum
  alignas(64) int32_t d[kLanes];  // half floats
  alignas(64) int32_t m[kLanes];
  alignas(64) int32_t bad[kLanes];  // not 0: use the scalar twin
};

struct SignedMax {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Max(a, b);
  }
};
using UnsignedMax = SignedMax;
struct UnsignedMin {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Min(a, b);
  }
};

// Halves a vector until four numbers remain.
template <class Combine, class D>
HWY_INLINE void store_folded(D d, hn::Vec<D> v, hn::TFromD<D>* out) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    hn::Store(v, d, out);
  } else {
    const hn::Half<D> half;
    store_folded<Combine>(half, Combine()(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), out);
  }
}

template <class Block>
HWY_INLINE void reduce_block(const float* values, size_t b, Partials& out) {
  Int signed_max = bits_of(hn::LoadU(kF, values));
  Word unsigned_max = hn::BitCast(kW, signed_max);
  Word unsigned_min = unsigned_max;
  HWY_UNROLL(8)
  for (size_t v = 1; v < kVectors; ++v) {
    const Int bits = bits_of(hn::LoadU(kF, values + v * kLanes));
    const Word word = hn::BitCast(kW, bits);
    signed_max = hn::Max(signed_max, bits);
    unsigned_max = hn::Max(unsigned_max, word);
    if constexpr (kHasMinimum<Block>) unsigned_min = hn::Min(unsigned_min, word);
  }
  store_folded<SignedMax>(kI, signed_max, out.signed_max + 4 * b);
  store_folded<UnsignedMax>(kW, unsigned_max, out.unsigned_max + 4 * b);
  if constexpr (kHasMinimum<Block>) {
    store_folded<UnsignedMin>(kW, unsigned_min, out.unsigned_min + 4 * b);
  }
}

template <>
HWY_INLINE void reduce_block<BlockQ8_0>(const float* values, size_t b, Partials& out) {
  Int largest = magnitude_bits(hn::LoadU(kF, values));
  HWY_UNROLL(8)
  for (size_t v = 1; v < kVectors; ++v) {
    largest = hn::Max(largest, magnitude_bits(hn::LoadU(kF, values + v * kLanes)));
  }
  store_folded<SignedMax>(kI, largest, out.signed_max + 4 * b);
}

// Combines the four numbers of each block b into lane b of the result.
template <class Combine, class D>
HWY_INLINE hn::Vec<D> reduce_rows(D d, const hn::TFromD<D>* partial) {
  const float* rows[kLanes];
  for (size_t b = 0; b < kLanes; ++b) rows[b] = reinterpret_cast<const float*>(partial) + 4 * b;
  const Quad quad = load_transposed(rows, 0);
  const Combine combine;
  return combine(combine(hn::BitCast(d, quad.v0), hn::BitCast(d, quad.v1)),
                 combine(hn::BitCast(d, quad.v2), hn::BitCast(d, quad.v3)));
}

// Computes 1 / d, or 0 where d is 0. Lanes with an infinite result or `magnitude` are bad.
HWY_INLINE void store_scales(Float d, Int magnitude, Scales& out) {
  const Float inverse = hn::IfThenElseZero(hn::Ne(d, hn::Zero(kF)), hn::Div(splat(1.0f), d));
  const Int worst = hn::Max(magnitude, hn::Max(magnitude_bits(inverse), magnitude_bits(d)));
  hn::Store(inverse, kF, out.inverse);
  hn::Store(f16_bits_from_float(d), kI, out.d);
  hn::Store(hn::VecFromMask(kI, hn::Gt(worst, splat_int(kInfBits - 1))), kI, out.bad);
}

// Returns the first value whose magnitude has these bits.
inline float first_of_magnitude(const float* values, int32_t magnitude) {
  for (size_t i = 0; i < kValues; ++i) {
    int32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    if ((bits & 0x7FFFFFFF) == magnitude) return values[i];
  }
  return 0;
}

// Replaces lane b of `chosen` by the first value of block b with its magnitude, if `tie` is set.
inline Float resolve_ties(const float* values, size_t blocks, Float chosen, hn::Mask<IntTag> tie) {
  alignas(64) int32_t ties[kLanes];
  alignas(64) float out[kLanes];
  hn::Store(hn::VecFromMask(kI, tie), kI, ties);
  hn::Store(chosen, kF, out);
  for (size_t b = 0; b < blocks; ++b) {
    if (ties[b] == 0) continue;
    int32_t bits;
    std::memcpy(&bits, out + b, sizeof(bits));
    out[b] = first_of_magnitude(values + b * kValues, bits & 0x7FFFFFFF);
  }
  return hn::Load(kF, out);
}

// For Q4_0 and Q5_0, the value of largest magnitude gets code 0.
template <class Block>
HWY_INLINE void find_scales(const float* values, size_t blocks, const Extremes& found,
                            Scales& out) {
  const Int most_negative = hn::BitCast(kI, found.unsigned_max);
  const Int magnitude = hn::Max(found.signed_max, hn::And(most_negative, splat_int(0x7FFFFFFF)));
  const Int negated = hn::Or(magnitude, splat_int(INT32_MIN));
  const auto is_negative = hn::Eq(most_negative, negated);
  const auto is_zero = hn::Eq(magnitude, splat_int(0));
  Float extreme =
      float_of(hn::IfThenZeroElse(is_zero, hn::IfThenElse(is_negative, negated, magnitude)));
  const auto tie = hn::AndNot(is_zero, hn::And(is_negative, hn::Eq(found.signed_max, magnitude)));
  if (HWY_UNLIKELY(!hn::AllFalse(kI, tie))) extreme = resolve_ties(values, blocks, extreme, tie);
  store_scales(hn::Div(extreme, splat(kFiveBits<Block> ? -16.0f : -8.0f)), magnitude, out);
}

// For Q4_1 and Q5_1, the smallest value gets code 0.
template <class Block>
HWY_INLINE void find_affine_scales(const float* values, size_t blocks, const Extremes& found,
                                   Scales& out) {
  const Int most_negative = hn::BitCast(kI, found.unsigned_max);
  const Int nearest = hn::BitCast(kI, found.unsigned_min);
  const Int zero = splat_int(0);
  Float low = float_of(hn::IfThenElse(hn::Lt(most_negative, zero), most_negative, nearest));
  const Float high =
      float_of(hn::IfThenElse(hn::Lt(found.signed_max, zero), nearest, found.signed_max));
  // If both zeros occur and nothing is below, the first zero is the minimum.
  const auto tie = hn::And(hn::Eq(most_negative, splat_int(INT32_MIN)), hn::Eq(nearest, zero));
  if (HWY_UNLIKELY(!hn::AllFalse(kI, tie))) low = resolve_ties(values, blocks, low, tie);
  const Float range = hn::Abs(hn::Sub(high, low));  // +0 for equal zeros of any sign
  const Int magnitude = hn::Max(found.signed_max, hn::And(most_negative, splat_int(0x7FFFFFFF)));
  store_scales(hn::Div(range, splat(kFiveBits<Block> ? 31.0f : 15.0f)), magnitude, out);
  hn::Store(low, kF, out.low);
  hn::Store(f16_bits_from_float(low), kI, out.m);
}

template <class Block>
HWY_INLINE void scale_strip(const float* values, size_t blocks, const Partials& partials,
                            Scales& out) {
  Extremes found;
  found.signed_max = reduce_rows<SignedMax>(kI, partials.signed_max);
  found.unsigned_max = reduce_rows<UnsignedMax>(kW, partials.unsigned_max);
  if constexpr (kHasMinimum<Block>) {
    found.unsigned_min = reduce_rows<UnsignedMin>(kW, partials.unsigned_min);
    find_affine_scales<Block>(values, blocks, found, out);
  } else {
    find_scales<Block>(values, blocks, found, out);
  }
}

template <>
HWY_INLINE void scale_strip<BlockQ8_0>(const float*, size_t, const Partials& partials,
                                       Scales& out) {
  const Int magnitude = reduce_rows<SignedMax>(kI, partials.signed_max);
  store_scales(hn::Div(float_of(magnitude), splat(127.0f)), magnitude, out);
}

// Returns codes 0..top as floats. All values here are above -1, where Floor truncates.
template <class Block>
HWY_INLINE Float code_of(Float value, const Scales& scales, size_t b) {
  const Float inverse = splat(scales.inverse[b]);
  if constexpr (kHasMinimum<Block>) {  // no limit: at most about top + 0.5
    const Float above = hn::Sub(value, splat(scales.low[b]));
    return hn::Floor(hn::Add(hn::Mul(above, inverse), splat(0.5f)));
  } else {
    const Float scaled = hn::Add(hn::Mul(value, inverse), splat(kFiveBits<Block> ? 16.5f : 8.5f));
    return limit_high(hn::Floor(scaled), splat(kFiveBits<Block> ? 31.0f : 15.0f));
  }
}

// Returns the code in the low bits; other bits are not zero.
HWY_INLINE Int code_bits(Float code) { return bits_of(hn::Add(code, splat(8388608.0f))); }

// Returns in bit i whether codes[i] has its fifth bit set.
HWY_INLINE uint32_t fifth_bits(Float code) {
  std::conditional_t<kLanes == 16, uint16_t, uint8_t> bits;
  uint8_t bytes[8];
  hn::StoreMaskBits(kF, hn::Gt(code, splat(15.0f)), bytes);
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

template <class Block>
HWY_INLINE void round_block(const float* values, const Scales& scales, size_t b, Block* out) {
  auto* bytes = reinterpret_cast<uint8_t*>(out);
  const auto d = static_cast<uint16_t>(scales.d[b]);
  std::memcpy(bytes + offsetof(Block, d), &d, sizeof(d));
  if constexpr (kHasMinimum<Block>) {
    const auto m = static_cast<uint16_t>(scales.m[b]);
    std::memcpy(bytes + offsetof(Block, m), &m, sizeof(m));
  }
  uint32_t high_bits = 0;
  HWY_UNROLL(8)
  for (size_t i = 0; i < kValues / 2; i += kLanes) {
    const Float first = code_of<Block>(hn::LoadU(kF, values + i), scales, b);
    const Float second = code_of<Block>(hn::LoadU(kF, values + i + kValues / 2), scales, b);
    Int low = code_bits(first);
    if constexpr (kFiveBits<Block>) {
      high_bits |= fifth_bits(first) << i | fifth_bits(second) << (i + kValues / 2);
      low = hn::And(low, splat_int(15));
    }
    const Int pair = hn::Or(low, hn::ShiftLeft<4>(code_bits(second)));
    hn::StoreU(low_bytes(pair), ByteTag(), bytes + offsetof(Block, codes) + i);
  }
  if constexpr (kFiveBits<Block>) {
    std::memcpy(bytes + offsetof(Block, high_bits), &high_bits, sizeof(high_bits));
  }
}

// Rounds half away from zero: adds the largest number below one half, then truncates.
template <>
HWY_INLINE void round_block<BlockQ8_0>(const float* values, const Scales& scales, size_t b,
                                       BlockQ8_0* out) {
  auto* bytes = reinterpret_cast<uint8_t*>(out);
  const auto d = static_cast<uint16_t>(scales.d[b]);
  std::memcpy(bytes, &d, sizeof(d));
  const Float inverse = splat(scales.inverse[b]);
  const Int below_half = bits_of(splat(0x1.fffffep-2f));
  HWY_UNROLL(8)
  for (size_t i = 0; i < kValues; i += kLanes) {
    const Float scaled = hn::Mul(hn::LoadU(kF, values + i), inverse);
    const Int sign = hn::And(bits_of(scaled), splat_int(INT32_MIN));
    const Float code = hn::Trunc(hn::Add(scaled, float_of(hn::Or(sign, below_half))));
    const Int low = bits_of(hn::Add(code, splat(12582912.0f)));
    hn::StoreU(low_bytes(low), ByteTag(), bytes + offsetof(BlockQ8_0, codes) + i);
  }
}

template <class Block, void (*kScalar)(const float*, uint64_t, Block*)>
HWY_INLINE void encode_strip(const float* values, size_t blocks, Partials& partials, Block* out) {
  for (size_t b = 0; b < blocks; ++b) reduce_block<Block>(values + b * kValues, b, partials);
  Scales scales;
  scale_strip<Block>(values, blocks, partials, scales);
  for (size_t b = 0; b < blocks; ++b) {
    if (HWY_LIKELY(scales.bad[b] == 0)) {
      round_block<Block>(values + b * kValues, scales, b, out + b);
    } else {
      kScalar(values + b * kValues, 1, out + b);
    }
  }
}

template <class Block, void (*kScalar)(const float*, uint64_t, Block*)>
HWY_INLINE void encode_blocks(const float* values, uint64_t blocks, Block* out) {
  Partials partials = {};
  for (uint64_t b = 0; b < blocks; b += kLanes) {
    const size_t count = blocks - b < kLanes ? static_cast<size_t>(blocks - b) : kLanes;
    encode_strip<Block, kScalar>(values + b * kValues, count, partials, out + b);
  }
}

}  // namespace

#define CKPT_ENCODED(name, Block)                                      \
  void name(const float* values, uint64_t blocks, Block* out) {        \
    encode_blocks<Block, encode_##name##_scalar>(values, blocks, out); \
  }
CKPT_WEIGHTED_BLOCKS(CKPT_ENCODED)
CKPT_ENCODED(q8_0, BlockQ8_0)
#undef CKPT_ENCODED

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

#define CKPT_ENCODED(name, Block) CKPT_SIMD_ENCODER(encode_##name, name, Block)
CKPT_WEIGHTED_BLOCKS(CKPT_ENCODED)
CKPT_ENCODED(q8_0, BlockQ8_0)
#undef CKPT_ENCODED

}  // namespace ckpt
#endif  // HWY_ONCE
