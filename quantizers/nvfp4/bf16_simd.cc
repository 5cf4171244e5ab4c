// Kernels of bf16.h for vectors of two or four 128-bit lanes.
//
// Values stay 16-bit integers. Eight vectors are transposed within their 128-bit lanes, so that a
// lane holds value e of eight blocks; each block has its halves in adjacent lanes:
//
//   vector j       q0 of block j | q1 of block j            (with four lanes: of 2j, 2j, 2j+1,
//   2j+1) vector e       value e of blocks 0..7 | value 8 + e of blocks 0..7
// A code is the number of bounds that |v| / d passes, where d is the scale of the block. |v| has 8
// bits, so each bound is one integer in the order of bfloat16s, and an exponent is worth 128. There
// remain four bounds, and 8 different mantissas of d in a tensor: they are looked up (Tables).
//
//   [|v| > T(.25)] + [|v| > T(.75)] + [how many of 1.25, 2.5, 5] + [how many of 1.75, 3.5]
//
// The scale's code follows in the same way from the largest magnitude: it grows by one at most once
// among 8 neighboring bfloat16s, and by 8 with each exponent.
//
// Note: tables hold the results of the division of a quotient and the comparison with the bound, so
// nothing here is close to a tie; -0 has code 0 and all other negative values code 8 or above. If a
// block's scale is not a normal E4M3 number (zeros, magnitudes 2^15 below the tensor's, or above
// it), its group is encoded through floats, as the last blocks are.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/model/float_convert.h"
#include "core/simd/dispatch.h"
#include "quantizers/nvfp4/bf16.h"
#include "quantizers/nvfp4/checkpoint.h"
#include "quantizers/plain/plain_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/nvfp4/bf16_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/lanes.h"

#ifndef CKPT_NVFP4_BF16_THROUGH_FLOATS
#define CKPT_NVFP4_BF16_THROUGH_FLOATS
namespace ckpt {
namespace {

// Encodes through pieces of floats; kScalar: without vectors.
template <bool kScalar>
bool encode_through_floats(const std::byte* values, uint64_t blocks, float tensor_scale,
                           Nvfp4Out out) {
  constexpr uint64_t kPiece = 64;
  float floats[kPiece * kE2m1BlockValues], amax[kPiece], divisors[kPiece];
  for (uint64_t first = 0; first < blocks; first += kPiece) {
    const uint64_t count = std::min(kPiece, blocks - first);
    const std::byte* in = values + first * kE2m1BlockValues * sizeof(uint16_t);
    std::byte* const codes = out.codes + first * kE2m1BlockBytes;
    if constexpr (kScalar) {
      for (uint64_t i = 0; i < count * kE2m1BlockValues; ++i, in += sizeof(uint16_t)) {
        uint16_t code;
        std::memcpy(&code, in, sizeof code);
        floats[i] = float_from_bf16(code);
      }
      find_block_amax_scalar(floats, count, amax);
      make_nvfp4_scales_scalar(amax, count, tensor_scale, out.scales + first, divisors);
      pack_e2m1_scalar(floats, count, divisors, codes);
    } else {
      decode_bf16(in, count * kE2m1BlockValues, floats);
      find_block_amax(floats, count, amax);
      make_nvfp4_scales(amax, count, tensor_scale, out.scales + first, divisors);
      pack_e2m1(floats, count, divisors, codes);
    }
    for (uint64_t b = 0; b < count; ++b) {
      if (!(amax[b] <= 0x1.FEp127f)) return false;
    }
  }
  return true;
}

uint16_t bf16_below(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

struct Tables {
  explicit Tables(float tensor_scale);

  // The range of largest magnitudes whose scales are in the tables.
  uint16_t lowest, highest;
  // By the upper 4 bits of the largest magnitude's mantissa: the scale's code, and from which of 8
  // magnitudes on it is one more; 8 `octave` is subtracted from 8 times the exponent.
  alignas(16) uint8_t code[16];
  alignas(16) uint8_t next[16];
  uint16_t octave;
  // By the lower 3 bits of the scale's code: the largest magnitude that does not pass .25, .75,
  // 1.25, 1.75 times the scale, if the code's upper bits are 0.
  alignas(16) uint16_t bounds[4][8];
};

// Inline, because targets that encode through floats do not use it and would warn.
inline Tables::Tables(float tensor_scale) {
  const float unit = 6.0f * tensor_scale;
  const auto scale_of = [&](uint16_t magnitude) { return float_from_bf16(magnitude) / unit; };
  lowest = bf16_below(unit * 0x1p-6f);
  while (scale_of(lowest) < 0x1p-6f) ++lowest;
  highest = static_cast<uint16_t>(bf16_below(unit * 456) + 1);
  while (scale_of(highest) > 456) --highest;
  const auto first = static_cast<uint16_t>(bf16_below(2 * unit) & 0x7F80);
  octave = static_cast<uint16_t>(first >> 7);
  for (uint16_t cell = 0; cell < 16; ++cell) {
    const auto code_at = [&](uint32_t place) {
      return e4m3_from_float(scale_of(static_cast<uint16_t>(first + 8 * cell + place)));
    };
    code[cell] = code_at(0);
    next[cell] = 1;
    while (next[cell] < 8 && code_at(next[cell]) == code[cell]) ++next[cell];
  }
  constexpr float kBounds[4] = {.25f, .75f, 1.25f, 1.75f};
  for (size_t k = 0; k < 4; ++k) {
    for (uint8_t i = 0; i < 8; ++i) {
      constexpr uint8_t kOne = 0x38;  // E4M3's 1
      const float divisor = float_from_e4m3(static_cast<uint8_t>(kOne + i)) * tensor_scale;
      auto bound = static_cast<uint16_t>(bf16_below(divisor * kBounds[k]) + 1);
      const auto passes = [&] {
        const float quotient = float_from_bf16(bound) / divisor;
        return k % 2 == 0 ? quotient > kBounds[k] : quotient >= kBounds[k];
      };
      while (passes()) --bound;
      bounds[k][i] = static_cast<uint16_t>(bound - (kOne >> 3) * 128);
    }
  }
}

}  // namespace
}  // namespace ckpt
#endif

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr hn::Repartition<uint16_t, FloatTag> kU16;
constexpr hn::Repartition<int16_t, FloatTag> kI16;
constexpr hn::Repartition<uint64_t, FloatTag> kU64;
constexpr hn::Repartition<uint8_t, FloatTag> kU8;
constexpr size_t kHalves = 2 * kLanes;  // values per vector
using Half = hn::Vec<hn::Repartition<uint16_t, FloatTag>>;
constexpr uint16_t kMagnitude = 0x7FFF;

HWY_INLINE Half splat_half(uint16_t value) { return hn::Set(kU16, value); }
HWY_INLINE Half load_halves(const std::byte* in) {
  return hn::BitCast(kU16, hn::LoadU(kU8, reinterpret_cast<const uint8_t*>(in)));
}
HWY_INLINE Half magnitudes(Half value) { return hn::And(value, splat_half(kMagnitude)); }

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

constexpr size_t kGroup = kLanes;  // blocks in eight vectors

struct Eight {
  Half v[8];
};

// Transposes within 128-bit lanes: out.v[e] has element e of in.v[0..7].
HWY_INLINE Eight transpose(const Eight& in) {
  const auto low32 = [](Half a, Half b) HWY_ATTR {
    return hn::BitCast(kU64, hn::InterleaveLower(kW, hn::BitCast(kW, a), hn::BitCast(kW, b)));
  };
  const auto high32 = [](Half a, Half b) HWY_ATTR {
    return hn::BitCast(kU64, hn::InterleaveUpper(kW, hn::BitCast(kW, a), hn::BitCast(kW, b)));
  };
  Half low[4], high[4];  // of two vectors each: elements 0..3 and 4..7
  for (size_t i = 0; i < 4; ++i) {
    low[i] = hn::InterleaveLower(kU16, in.v[2 * i], in.v[2 * i + 1]);
    high[i] = hn::InterleaveUpper(kU16, in.v[2 * i], in.v[2 * i + 1]);
  }
  Eight out;
  const auto finish = [&](size_t e, auto a, auto b) HWY_ATTR {
    out.v[e] = hn::BitCast(kU16, hn::InterleaveLower(kU64, a, b));
    out.v[e + 1] = hn::BitCast(kU16, hn::InterleaveUpper(kU64, a, b));
  };
  finish(0, low32(low[0], low[1]), low32(low[2], low[3]));
  finish(2, high32(low[0], low[1]), high32(low[2], low[3]));
  finish(4, low32(high[0], high[1]), low32(high[2], high[3]));
  finish(6, high32(high[0], high[1]), high32(high[2], high[3]));
  return out;
}

// Returns the largest magnitude of each block in both of its lanes.
HWY_INLINE Half block_magnitudes(const Eight& values) {
  Half m[8];
  for (size_t e = 0; e < 8; ++e) m[e] = magnitudes(values.v[e]);
  const Half a = hn::Max(hn::Max(m[0], m[1]), hn::Max(m[2], m[3]));
  const Half b = hn::Max(hn::Max(m[4], m[5]), hn::Max(m[6], m[7]));
  const Half all = hn::Max(a, b);
  return hn::Max(all, hn::SwapAdjacentBlocks(all));
}

struct Vectors {
  explicit Vectors(const Tables& tables)
      : lowest(splat_half(tables.lowest)),
        highest(splat_half(tables.highest)),
        octave(splat_half(static_cast<uint16_t>(8 * tables.octave))),
        code(hn::LoadDup128(kU8, tables.code)),
        next(hn::LoadDup128(kU8, tables.next)) {
    for (size_t k = 0; k < 4; ++k) {
      bounds[k] = hn::BitCast(kU8, hn::LoadDup128(kU16, tables.bounds[k]));
    }
  }
  Half lowest, highest, octave;
  hn::Vec<hn::Repartition<uint8_t, FloatTag>> code, next, bounds[4];
};

// Adds 1 where a > b, for numbers below 0x8000.
HWY_INLINE Half add_if_above(Half code, Half a, Half b) {
#if HWY_TARGET == HWY_AVX3
  return hn::IfThenElse(hn::Gt(a, b), hn::Add(code, splat_half(1)), code);
#else
  const auto is_above = hn::Gt(hn::BitCast(kI16, a), hn::BitCast(kI16, b));
  return hn::Sub(code, hn::BitCast(kU16, hn::VecFromMask(kI16, is_above)));
#endif
}

// Returns the E4M3 code of each block's scale.
HWY_INLINE Half scale_codes(Half largest, const Vectors& tables) {
  const Half sixteenths = hn::ShiftRight<3>(largest);
  const auto cell = hn::BitCast(kU8, hn::Or(hn::And(sixteenths, splat_half(15)),
                                            splat_half(0x8000)));  // the upper byte: 0
  const Half code = hn::BitCast(kU16, hn::TableLookupBytesOr0(tables.code, cell));
  const Half next = hn::BitCast(kU16, hn::TableLookupBytesOr0(tables.next, cell));
  const Half exponent = hn::And(hn::ShiftRight<4>(largest), splat_half(0xFFF8));
  const Half place = hn::Add(hn::And(largest, splat_half(7)), splat_half(1));
  return add_if_above(hn::Add(code, hn::Sub(exponent, tables.octave)), place, next);
}

// Lower bounds of |v|. The last two are reduced by 127, so that 128 is one bound passed.
struct Bounds {
  Half quarter, three_quarters, five_quarters, seven_quarters;
};

HWY_INLINE Bounds find_bounds(Half codes, const Vectors& tables) {
  const Half low = hn::And(codes, splat_half(7));
  const Half pair = hn::Add(hn::Add(low, low), splat_half(0x0100));
  const auto index = hn::BitCast(kU8, hn::Add(pair, hn::ShiftLeft<9>(low)));
  const Half exponent = hn::And(hn::ShiftLeft<4>(codes), splat_half(0xFF80));
  const auto bound = [&](size_t k, Half more) HWY_ATTR {
    return hn::Add(hn::BitCast(kU16, hn::TableLookupBytes(tables.bounds[k], index)), more);
  };
  const Half less = hn::Sub(exponent, splat_half(127));
  return {bound(0, exponent), bound(1, exponent), bound(2, less), bound(3, less)};
}

HWY_INLINE Half codes_of(Half value, const Bounds& bounds) {
  const Half magnitude = magnitudes(value);
  const Half fives = hn::ShiftRight<7>(hn::SaturatedSub(magnitude, bounds.five_quarters));
  const Half sevens = hn::ShiftRight<7>(hn::SaturatedSub(magnitude, bounds.seven_quarters));
  Half code = add_if_above(hn::Add(fives, sevens), magnitude, bounds.quarter);
  code = add_if_above(code, magnitude, bounds.three_quarters);
#if HWY_TARGET == HWY_AVX3
  const auto is_negative = hn::Gt(value, splat_half(0x8000));
  return hn::IfThenElse(is_negative, hn::Add(code, splat_half(8)), code);
#else
  const Half sign = hn::ShiftRight<12>(hn::SaturatedSub(value, splat_half(1)));
  return hn::Or(code, hn::And(sign, splat_half(8)));
#endif
}

HWY_INLINE Half four_codes(const Half* values, const Bounds& bounds) {
  const Half a = codes_of(values[0], bounds);
  const Half b = hn::ShiftLeft<4>(codes_of(values[1], bounds));
  const Half c = hn::ShiftLeft<8>(codes_of(values[2], bounds));
  const Half d = hn::ShiftLeft<12>(codes_of(values[3], bounds));
  return hn::Or(hn::Or(a, b), hn::Or(c, d));
}

// Stores four bytes per lane; first and second halves of blocks alternate by 128 bits.
HWY_INLINE void store_codes(Half four_bytes, std::byte* out) {
#if HWY_TARGET == HWY_AVX3
  alignas(64) static constexpr int32_t kOrder[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                     2, 6, 10, 14, 3, 7, 11, 15};
#else
  alignas(32) static constexpr int32_t kOrder[8] = {0, 4, 1, 5, 2, 6, 3, 7};
#endif
  const Int ordered =
      hn::TableLookupLanes(hn::BitCast(kI, four_bytes), hn::SetTableIndices(kI, kOrder));
  hn::StoreU(hn::BitCast(kU8, ordered), kU8, reinterpret_cast<uint8_t*>(out));
}

HWY_INLINE void store_scales(Half codes, std::byte* out) {
  const hn::Half<hn::Repartition<uint16_t, FloatTag>> half;
#if HWY_TARGET == HWY_AVX3
  const auto even = hn::LowerHalf(hn::Half<decltype(half)>(), hn::LowerHalf(half, codes));
  const auto odd = hn::LowerHalf(hn::Half<decltype(half)>(), hn::UpperHalf(half, codes));
  const auto bytes = hn::BitCast(hn::Repartition<uint8_t, hn::Half<decltype(half)>>(),
                                 hn::Or(even, hn::ShiftLeft<8>(odd)));
#else
  const hn::Rebind<uint8_t, decltype(half)> narrow;
  const auto bytes = hn::DemoteTo(
      narrow, hn::BitCast(hn::RebindToSigned<decltype(half)>(), hn::LowerHalf(half, codes)));
#endif
  hn::StoreU(bytes, hn::DFromV<decltype(bytes)>(), reinterpret_cast<uint8_t*>(out));
}

// The number of groups per loop. One loop computes bounds from values, a long chain of which the
// processor overlaps several; another one computes codes.
constexpr size_t kRun = 8;
struct PreparedBlock {
  Eight values;
  Bounds bounds;
  bool is_ordinary;  // its scales are in the tables
};

// Transposes kGroup blocks and finds their scales and bounds.
HWY_INLINE void prepare(const std::byte* in, const Vectors& tables, std::byte* scales,
                        PreparedBlock& out) {
  Eight values;
  for (size_t j = 0; j < 8; ++j) values.v[j] = load_halves(in + j * kHalves * sizeof(uint16_t));
  values = transpose(values);
  const Half largest = block_magnitudes(values);
  const Half limited = hn::Min(hn::Max(largest, tables.lowest), tables.highest);
  out.is_ordinary = hn::AllTrue(kU16, hn::Eq(limited, largest));
  const Half codes = scale_codes(limited, tables);
  store_scales(codes, scales);
  out.bounds = find_bounds(codes, tables);
  out.values = values;
}

HWY_INLINE void finish(const PreparedBlock& group, std::byte* codes) {
  const Half low = four_codes(group.values.v, group.bounds);
  const Half high = four_codes(group.values.v + 4, group.bounds);
  store_codes(hn::InterleaveLower(kU16, low, high), codes);
  store_codes(hn::InterleaveUpper(kU16, low, high), codes + kGroup / 2 * kE2m1BlockBytes);
}

// Encodes `groups` groups, at most kRun.
bool encode_groups(const std::byte* in, size_t groups, const Vectors& tables, float tensor_scale,
                   Nvfp4Out out) {
  constexpr size_t kGroupBytes = kGroup * kE2m1BlockValues * sizeof(uint16_t);
  constexpr size_t kCodeBytes = kGroup * kE2m1BlockBytes;
  PreparedBlock prepared[kRun];
  bool is_ordinary = true;
  for (size_t g = 0; g < groups; ++g) {
    prepare(in + g * kGroupBytes, tables, out.scales + g * kGroup, prepared[g]);
    is_ordinary = is_ordinary && prepared[g].is_ordinary;
  }
  for (size_t g = 0; g < groups; ++g) finish(prepared[g], out.codes + g * kCodeBytes);
  for (size_t g = 0; g < groups && !is_ordinary; ++g) {
    if (prepared[g].is_ordinary) continue;
    const Nvfp4Out again{out.codes + g * kCodeBytes, out.scales + g * kGroup};
    if (!encode_through_floats<false>(in + g * kGroupBytes, kGroup, tensor_scale, again)) {
      return false;
    }
  }
  return true;
}

#endif  // AVX2, AVX3

}  // namespace

bool encode_halves(const std::byte* values, uint64_t blocks, float tensor_scale, Nvfp4Out out) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  // Scales d range from 2^-9 to 448 times this value.
  if (!(tensor_scale >= 0x1p-90f && tensor_scale <= 128)) {
    return encode_through_floats<false>(values, blocks, tensor_scale, out);
  }
  const Vectors tables{Tables(tensor_scale)};
  while (blocks >= kGroup) {
    const size_t groups = std::min<uint64_t>(kRun, blocks / kGroup);
    if (!encode_groups(values, groups, tables, tensor_scale, out)) return false;
    const size_t done = groups * kGroup;
    values += done * kE2m1BlockValues * sizeof(uint16_t);
    out = {out.codes + done * kE2m1BlockBytes, out.scales + done};
    blocks -= done;
  }
#endif
  return encode_through_floats<false>(values, blocks, tensor_scale, out);
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

bool encode_nvfp4_bf16_scalar(const std::byte* values, uint64_t blocks, float tensor_scale,
                              Nvfp4Out out) {
  return encode_through_floats<true>(values, blocks, tensor_scale, out);
}

CKPT_SIMD_FUNCTION(bool, encode_nvfp4_bf16, encode_halves,
                   (const std::byte* values, uint64_t blocks, float tensor_scale, Nvfp4Out out),
                   (values, blocks, tensor_scale, out))

}  // namespace ckpt
#endif  // HWY_ONCE
