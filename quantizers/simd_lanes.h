// Vector pieces that kernels share: tags, conversions of half floats, roundings, transposition.
//
// Included once for each target by *_simd.cc files only. A
// vector holds kLanes floats: 4, 8 or 16. Kernels that sum hold one run of values in each lane:
//
//   rows in memory          in lanes, element e of all rows beside each other
//   row 0   a0 a1 a2 ...    out[0 kLanes ..]  a0 b0 c0 ...
//   row 1   b0 b1 b2 ...    out[1 kLanes ..]  a1 b1 c1 ...
//
// What a reader would get wrong: sums in a lane run over e in the scalar twin's order, so nothing
// here may reorder, fuse or approximate; see simd_dispatch.h. All is in an unnamed namespace, since
// kernel files share their namespaces.
#if defined(CKPT_SIMD_LANES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_LANES_H
#undef CKPT_SIMD_LANES_H
#else
#define CKPT_SIMD_LANES_H
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "quantizers/simd_dispatch.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::RebindToSigned<FloatTag>;
using WordTag = hn::RebindToUnsigned<FloatTag>;
using ByteTag = hn::Rebind<uint8_t, FloatTag>;     // kLanes bytes
using Float = hn::Vec<FloatTag>;
using Int = hn::Vec<IntTag>;
using Word = hn::Vec<WordTag>;
using Bytes = hn::Vec<ByteTag>;
using Mask = hn::Mask<FloatTag>;

constexpr FloatTag kF;
constexpr IntTag kI;
constexpr WordTag kW;
constexpr size_t kLanes = hn::MaxLanes(FloatTag());

HWY_INLINE Float splat(float value) { return hn::Set(kF, value); }
HWY_INLINE Int splat_int(int32_t value) { return hn::Set(kI, value); }
HWY_INLINE Int bits_of(Float value) { return hn::BitCast(kI, value); }
HWY_INLINE Float float_of(Int bits) { return hn::BitCast(kF, bits); }

// |value| as an integer: grows with the magnitude, Inf and NaN at 0x7F800000 and above.
HWY_INLINE Int magnitude_bits(Float value) {
  return hn::And(bits_of(value), splat_int(0x7FFFFFFF));
}
constexpr int32_t kInfBits = 0x7F800000;

// ---- roundings --------------------------------------------------------------------------------

// rounding.h round_to_int for any value.
HWY_INLINE Int round_to_int_lanes(Float value) {
  const Int bits = bits_of(hn::Add(value, splat(12582912.0f)));
  return hn::Sub(hn::And(bits, splat_int(0x007FFFFF)), splat_int(0x00400000));
}

HWY_INLINE Int clamp_int(Int value, int32_t low, int32_t high) {
  return hn::Min(hn::Max(value, splat_int(low)), splat_int(high));
}

// Limits numbers that are not NaN; as integers, which every execution port can compare.
HWY_INLINE Float limit_low_zero(Float value) {   // -0 becomes +0
  return float_of(hn::Max(bits_of(value), splat_int(0)));
}
HWY_INLINE Float limit_high(Float value, Float high) {   // Requires: value >= 0
  return float_of(hn::Min(bits_of(value), bits_of(high)));
}

// The low bytes of integers, in order.
HWY_INLINE Bytes low_bytes(Int value) {
  return hn::TruncateTo(ByteTag(), hn::BitCast(kW, value));
}
HWY_INLINE void store_low_bytes(Int value, uint8_t* out) {
  hn::StoreU(low_bytes(value), ByteTag(), out);
}

// ---- half floats ------------------------------------------------------------------------------

// float_convert.h f16_from_float, in the low 16 bits.
HWY_INLINE Int f16_bits_from_float(Float value) {
  const Int bits = bits_of(value);
  const Int sign = hn::And(hn::BitCast(kI, hn::ShiftRight<16>(hn::BitCast(kW, bits))),
                           splat_int(0x8000));
  const Int magnitude = magnitude_bits(value);
  const Int small = hn::Sub(bits_of(hn::Add(float_of(magnitude), splat(0.5f))),
                            splat_int(0x3F000000));
  const Int odd = hn::And(hn::ShiftRight<13>(magnitude), splat_int(1));
  const Int rounded = hn::Add(hn::Add(magnitude, odd), splat_int(0xFFF - 0x38000000));
  Int out = hn::IfThenElse(hn::Lt(magnitude, splat_int(0x38800000)), small,
                           hn::ShiftRight<13>(rounded));
  out = hn::IfThenElse(hn::Gt(magnitude, splat_int(0x477FEFFF)), splat_int(0x7C00), out);
  out = hn::IfThenElse(hn::Gt(magnitude, splat_int(kInfBits)), splat_int(0x7E00), out);
  return hn::Or(out, sign);
}

// float_convert.h float_from_f16 for codes in the low 16 bits.
HWY_INLINE Float float_from_f16_bits(Int half) {
  const Int sign = hn::ShiftLeft<16>(hn::And(half, splat_int(0x8000)));
  const Int magnitude = hn::And(half, splat_int(0x7FFF));
  const Int shifted = hn::ShiftLeft<13>(magnitude);
  const Int normal = hn::Add(shifted, splat_int(0x38000000));
  const Int small = bits_of(hn::Sub(float_of(hn::Or(magnitude, splat_int(0x3F000000))),
                                    splat(0.5f)));
  const Int nan = hn::IfThenElseZero(hn::Gt(magnitude, splat_int(0x7C00)),
                                     splat_int(0x00400000));
  const Int special = hn::Or(hn::Or(shifted, splat_int(kInfBits)), nan);
  Int out = hn::IfThenElse(hn::Lt(magnitude, splat_int(0x0400)), small, normal);
  out = hn::IfThenElse(hn::Gt(magnitude, splat_int(0x7BFF)), special, out);
  return float_of(hn::Or(out, sign));
}

// ---- transposition ----------------------------------------------------------------------------

// Block i (4 floats) of the result is rows[4 i][0..3].
template <class D>
HWY_INLINE hn::Vec<D> load_quads(D d, const float* const* rows, size_t element) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, rows[0] + element);
  } else {
    const hn::Half<D> half;
    constexpr size_t kHalf = hn::MaxLanes(hn::Half<D>());
    return hn::Combine(d, load_quads(half, rows + kHalf, element),
                       load_quads(half, rows, element));
  }
}

struct Quad {
  Float v0, v1, v2, v3;
};

// Elements element..element+3 of kLanes rows.
HWY_INLINE Quad load_transposed(const float* const* rows, size_t element) {
  const hn::RepartitionToWide<WordTag> wide;
  const Float r0 = load_quads(kF, rows, element);
  const Float r1 = load_quads(kF, rows + 1, element);
  const Float r2 = load_quads(kF, rows + 2, element);
  const Float r3 = load_quads(kF, rows + 3, element);
  const auto a = hn::BitCast(wide, hn::InterleaveLower(kF, r0, r1));
  const auto b = hn::BitCast(wide, hn::InterleaveUpper(kF, r0, r1));
  const auto c = hn::BitCast(wide, hn::InterleaveLower(kF, r2, r3));
  const auto d = hn::BitCast(wide, hn::InterleaveUpper(kF, r2, r3));
  return {hn::BitCast(kF, hn::InterleaveLower(wide, a, c)),
          hn::BitCast(kF, hn::InterleaveUpper(wide, a, c)),
          hn::BitCast(kF, hn::InterleaveLower(wide, b, d)),
          hn::BitCast(kF, hn::InterleaveUpper(wide, b, d))};
}

// count is a multiple of 4; out has room for count x kLanes and is aligned to a vector.
HWY_INLINE void transpose_rows(const float* const* rows, size_t count, float* out) {
  for (size_t e = 0; e < count; e += 4, out += 4 * kLanes) {
    const Quad quad = load_transposed(rows, e);
    hn::Store(quad.v0, kF, out);
    hn::Store(quad.v1, kF, out + kLanes);
    hn::Store(quad.v2, kF, out + 2 * kLanes);
    hn::Store(quad.v3, kF, out + 3 * kLanes);
  }
}

// kLanes rows of `count` floats that lie back to back.
HWY_INLINE void transpose_neighbours(const float* first, size_t count, float* out) {
  const float* rows[kLanes];
  for (size_t r = 0; r < kLanes; ++r) rows[r] = first + r * count;
  transpose_rows(rows, count, out);
}

// Vector e of what transpose_rows stored.
HWY_INLINE Float vector_at(const float* from, size_t e) { return hn::Load(kF, from + e * kLanes); }

// Sum of squares of each row, from its first value to its last.
HWY_INLINE Float sum_squares_rows(const float* const* rows, size_t count) {
  Float sum = hn::Zero(kF);
  for (size_t e = 0; e < count; e += 4) {
    const Quad quad = load_transposed(rows, e);
    sum = hn::Add(sum, hn::Mul(quad.v0, quad.v0));
    sum = hn::Add(sum, hn::Mul(quad.v1, quad.v1));
    sum = hn::Add(sum, hn::Mul(quad.v2, quad.v2));
    sum = hn::Add(sum, hn::Mul(quad.v3, quad.v3));
  }
  return sum;
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif   // CKPT_SIMD_TARGET
#endif   // CKPT_SIMD_LANES_H
