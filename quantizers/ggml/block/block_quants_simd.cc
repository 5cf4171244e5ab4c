// Kernels that encode Q8_0, Q4_0, Q4_1, Q5_0 and Q5_1 without weights, and all but Q8_0 with column
// weights.
//
// Without weights: a strip is kLanes blocks of 32 values. Their extremes are first reduced to four
// numbers per block, then, transposed, to one lane per block; then scales are computed in lanes,
// and each block is rounded:
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
//
// With column weights: a block of 32 values is one run of a search, in one lane: fit_signed for
// Qn_0 (ggml/signed.h), fit_affine for Qn_1 (ggml/affine.h). The blocks of kLanes rows are one
// sequence that is split into groups of lanes; the weights of a block need the mean square of its
// entire row.
//
// Note: the codes are those of the search, made with the float scale and not with the stored half
// floats. Sums over a row run from its first value to its last, so kLanes rows are summed in
// parallel. A row with a bad block goes to the scalar twin.
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/block/block_quants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/block/block_quants_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/ggml/affine.h"
#include "quantizers/ggml/signed.h"
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

namespace {

constexpr size_t kGroups = 2;
constexpr size_t kStep = kGroups * kLanes;  // blocks per search

// kLanes rows (or `count`, if fewer) that are encoded before the next ones are read.
struct RowStrip {
  const float* values;
  const float* weights;  // one per column
  size_t row_values;
  size_t blocks;  // in all rows of the strip
  alignas(64) float variance[kLanes];
};

HWY_INLINE void find_row_variances(size_t count, RowStrip& strip) {
  const float* rows[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    rows[i] = strip.values + (i < count ? i : count - 1) * strip.row_values;
  }
  const Float sum = sum_squares_rows(rows, strip.row_values);
  hn::Store(hn::Div(sum, splat(static_cast<float>(strip.row_values))), kF, strip.variance);
}

// Loads values and weights of kLanes blocks from `first` on. Lanes after the last block repeat it.
HWY_INLINE void load_blocks(const RowStrip& strip, size_t first, float* x, float* w) {
  const size_t row_blocks = strip.row_values / kValues;
  const float* rows[kLanes];
  const float* weight_rows[kLanes];
  alignas(64) float variance[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    const size_t block = first + i < strip.blocks ? first + i : strip.blocks - 1;
    rows[i] = strip.values + block * kValues;
    weight_rows[i] = strip.weights + block % row_blocks * kValues;
    variance[i] = strip.variance[block / row_blocks];
  }
  transpose_rows(rows, kValues, x);
  transpose_rows(weight_rows, kValues, w);
  const Float spread = hn::Load(kF, variance);
  for (size_t e = 0; e < kValues * kLanes; e += kLanes) {
    const Float value = hn::Load(kF, x + e);
    const Float root = hn::Sqrt(hn::Add(spread, hn::Mul(value, value)));
    hn::Store(hn::Mul(hn::Load(kF, w + e), root), kF, w + e);
  }
}

// The results of the searches, by block. Codes are clamp(round(inverse (x - start)), 0, top), or
// clamp(round(inverse x), -middle, middle - 1) + middle.
struct SearchResults {
  alignas(64) float scale[kStep];
  alignas(64) float minimum[kStep];
  alignas(64) float inverse[kStep];
  alignas(64) float start[kStep];
  alignas(64) float weight[kStep];
  alignas(64) int32_t bad[kStep];
  alignas(64) int32_t dead[kStep];  // Qn_0 only: all codes are 0
  alignas(64) int32_t d[kStep];     // half floats
  alignas(64) int32_t m[kStep];
};

// Rounds scales to half floats and marks blocks whose scale or minimum is Inf or NaN.
HWY_INLINE void round_scales(SearchResults& found) {
  for (size_t i = 0; i < kStep; i += kLanes) {
    const Float scale = hn::Load(kF, found.scale + i);
    const Float low = hn::Neg(hn::Load(kF, found.minimum + i));
    const Int worst = hn::Max(magnitude_bits(scale), magnitude_bits(low));
    const Int infinite = hn::VecFromMask(kI, hn::Gt(worst, splat_int(kInfBits - 1)));
    hn::Store(hn::Or(hn::Load(kI, found.bad + i), infinite), kI, found.bad + i);
    hn::Store(f16_bits_from_float(scale), kI, found.d + i);
    hn::Store(f16_bits_from_float(low), kI, found.m + i);
  }
}

template <class Block>
HWY_INLINE void search_signed(const RowStrip& strip, size_t first, SearchResults& found) {
  SignedGroup<kValues> group;
  for (size_t i = 0; i < kStep; i += kLanes) {
    load_blocks(strip, first + i, group.x, group.w);
    const SignedLanes lanes = fit_signed_lanes(group, kFiveBits<Block> ? 16 : 8);
    hn::Store(lanes.scale, kF, found.scale + i);
    hn::Store(hn::Zero(kF), kF, found.minimum + i);
    hn::Store(lanes.inverse, kF, found.inverse + i);
    hn::Store(flags(lanes.dead), kI, found.dead + i);
    hn::Store(flags(lanes.bad), kI, found.bad + i);
  }
}

template <class Block>
HWY_INLINE void search_affine(const RowStrip& strip, size_t first, SearchResults& found) {
  constexpr AffineSearch kSearch{kFiveBits<Block> ? 31 : 15, -0.9f, 0.05f, 36};
  const Numerators numerators = make_numerators(kSearch);
  AffineGroup<kValues> groups[kGroups];
  for (size_t i = 0; i < kGroups; ++i) {
    load_blocks(strip, first + i * kLanes, groups[i].x, groups[i].w);
  }
  fit_affine_lanes<false>(
      groups, numerators, 0,
      {found.scale, found.minimum, found.inverse, found.start, found.weight, found.bad});
}

template <class Block>
HWY_INLINE Int codes_at(const float* values, const SearchResults& found, size_t b) {
  const Float x = hn::LoadU(kF, values);
  const Float inverse = splat(found.inverse[b]);
  if constexpr (kHasMinimum<Block>) {
    const Int code = round_to_int_lanes(hn::Mul(inverse, hn::Sub(x, splat(found.start[b]))));
    return clamp_int(code, 0, kFiveBits<Block> ? 31 : 15);
  } else {
    constexpr int32_t kMiddle = kFiveBits<Block> ? 16 : 8;
    const Int code = clamp_int(round_to_int_lanes(hn::Mul(inverse, x)), -kMiddle, kMiddle - 1);
    const Int dead = splat_int(found.dead[b]);
    return hn::AndNot(dead, hn::Add(code, splat_int(kMiddle)));
  }
}

// Returns in bit i the fifth bit of codes[i].
HWY_INLINE uint32_t fifth_bits(Int codes) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(kI, hn::Gt(codes, splat_int(15)), bytes);
  return static_cast<uint32_t>(bytes[0] | bytes[1] << 8);
}

template <class Block>
HWY_INLINE void finish_block(const float* values, const SearchResults& found, size_t b,
                             Block& out) {
  uint8_t* bytes = out.codes;
  uint32_t high_bits = 0;
  for (size_t i = 0; i < kValues / 2; i += kLanes) {
    const Int low = codes_at<Block>(values + i, found, b);
    const Int high = codes_at<Block>(values + i + kValues / 2, found, b);
    if constexpr (kFiveBits<Block>) {
      high_bits |= fifth_bits(low) << i | fifth_bits(high) << (i + kValues / 2);
    }
    const Int pair = hn::Or(hn::And(low, splat_int(15)), hn::ShiftLeft<4>(high));
    hn::StoreU(low_bytes(pair), ByteTag(), bytes + i);
  }
  out.d = static_cast<uint16_t>(found.d[b]);
  if constexpr (kHasMinimum<Block>) out.m = static_cast<uint16_t>(found.m[b]);
  if constexpr (kFiveBits<Block>) out.high_bits = high_bits;
}

template <class Block>
HWY_INLINE void encode_step(const RowStrip& strip, size_t first, Block* out, uint8_t* bad_rows) {
  SearchResults found;
  if constexpr (kHasMinimum<Block>) {
    search_affine<Block>(strip, first, found);
  } else {
    search_signed<Block>(strip, first, found);
  }
  round_scales(found);
  const size_t rest = strip.blocks - first;
  for (size_t b = 0; b < (rest < kStep ? rest : kStep); ++b) {
    finish_block(strip.values + (first + b) * kValues, found, b, out[first + b]);
    if (HWY_UNLIKELY(found.bad[b] != 0)) bad_rows[(first + b) / (strip.row_values / kValues)] = 1;
  }
}

template <class Block>
HWY_INLINE void encode_rows(ConstFloatRows rows, std::span<const float> weights, Block* out,
                            EncodeWeightedRows<Block>* scalar) {
  const auto row_values = static_cast<size_t>(rows.row_values);
  const size_t row_blocks = row_values / kValues;
  const auto row_count = static_cast<size_t>(rows.rows());
  for (size_t row = 0; row < row_count; row += kLanes, out += kLanes * row_blocks) {
    const size_t count = row_count - row < kLanes ? row_count - row : kLanes;
    RowStrip strip{
        rows.values.data() + row * row_values, weights.data(), row_values, count * row_blocks, {}};
    uint8_t bad_rows[kLanes] = {};
    find_row_variances(count, strip);
    for (size_t b = 0; b < strip.blocks; b += kStep) encode_step(strip, b, out, bad_rows);
    for (size_t i = 0; i < count; ++i) {
      if (bad_rows[i] == 0) continue;
      scalar({{strip.values + i * row_values, row_values}, row_values}, weights,
             out + i * row_blocks);
    }
  }
}

}  // namespace

#define CKPT_WEIGHTED(name, Block)                                                        \
  void weighted_##name(ConstFloatRows rows, std::span<const float> weights, Block* out) { \
    encode_rows(rows, weights, out, encode_##name##_weighted_scalar);                     \
  }
CKPT_WEIGHTED_BLOCKS(CKPT_WEIGHTED)
#undef CKPT_WEIGHTED

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

#define CKPT_ENCODED(name, Block) CKPT_SIMD_ENCODER(encode_##name, name, Block)
CKPT_WEIGHTED_BLOCKS(CKPT_ENCODED)
CKPT_ENCODED(q8_0, BlockQ8_0)
#undef CKPT_ENCODED

#define CKPT_WEIGHTED(name, Block) \
  CKPT_SIMD_WEIGHTED_ENCODER(encode_##name##_weighted, weighted_##name, Block)
CKPT_WEIGHTED_BLOCKS(CKPT_WEIGHTED)
#undef CKPT_WEIGHTED

}  // namespace ckpt
#endif  // HWY_ONCE
