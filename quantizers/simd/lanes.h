// Vector functions that kernels share: tags, limits, roundings, conversions of half floats.
//
// A vector holds kLanes floats: 4, 8 or 16.
//
// Note: nothing here may fuse or approximate; see dispatch.h. Everything is in an unnamed
// namespace, since kernel files share their namespaces. Included once per target by *_simd.cc files
// only.
#if defined(CKPT_SIMD_LANES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_LANES_H
#undef CKPT_SIMD_LANES_H
#else
#define CKPT_SIMD_LANES_H
#endif

#include <cstddef>
#include <cstdint>

#include "core/simd/dispatch.h"
#include "hwy/highway.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::RebindToSigned<FloatTag>;
using WordTag = hn::RebindToUnsigned<FloatTag>;
using ByteTag = hn::Rebind<uint8_t, FloatTag>;  // kLanes bytes
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
// Sets all bits where the mask is set.
HWY_INLINE Int flags(Mask mask) { return hn::VecFromMask(kI, hn::RebindMask(kI, mask)); }

// Returns |value| as an integer that grows with it; Inf and NaN are 0x7F800000 or more.
HWY_INLINE Int magnitude_bits(Float value) {
  return hn::And(bits_of(value), splat_int(0x7FFFFFFF));
}
constexpr int32_t kInfBits = 0x7F800000;

// Does what round_to_int of rounding.h does, for any value.
HWY_INLINE Int round_to_int_lanes(Float value) {
  const Int bits = bits_of(hn::Add(value, splat(12582912.0f)));
  return hn::Sub(hn::And(bits, splat_int(0x007FFFFF)), splat_int(0x00400000));
}

HWY_INLINE Int clamp_int(Int value, int32_t low, int32_t high) {
  return hn::Min(hn::Max(value, splat_int(low)), splat_int(high));
}

// Limit numbers that are not NaN, as integers, which every execution port can compare.
HWY_INLINE Float limit_low_zero(Float value) {  // -0 becomes +0
  return float_of(hn::Max(bits_of(value), splat_int(0)));
}
HWY_INLINE Float limit_high(Float value, Float high) {  // Requires: value >= 0
  return float_of(hn::Min(bits_of(value), bits_of(high)));
}

// Returns the low bytes of integers, in order.
HWY_INLINE Bytes low_bytes(Int value) { return hn::TruncateTo(ByteTag(), hn::BitCast(kW, value)); }
HWY_INLINE void store_low_bytes(Int value, uint8_t* out) {
  hn::StoreU(low_bytes(value), ByteTag(), out);
}

// Does what f16_from_float of float_convert.h does, in the low 16 bits.
HWY_INLINE Int f16_bits_from_float(Float value) {
  const Int bits = bits_of(value);
  const Int sign =
      hn::And(hn::BitCast(kI, hn::ShiftRight<16>(hn::BitCast(kW, bits))), splat_int(0x8000));
  const Int magnitude = magnitude_bits(value);
  const Int small =
      hn::Sub(bits_of(hn::Add(float_of(magnitude), splat(0.5f))), splat_int(0x3F000000));
  const Int odd = hn::And(hn::ShiftRight<13>(magnitude), splat_int(1));
  const Int rounded = hn::Add(hn::Add(magnitude, odd), splat_int(0xFFF - 0x38000000));
  Int out =
      hn::IfThenElse(hn::Lt(magnitude, splat_int(0x38800000)), small, hn::ShiftRight<13>(rounded));
  out = hn::IfThenElse(hn::Gt(magnitude, splat_int(0x477FEFFF)), splat_int(0x7C00), out);
  out = hn::IfThenElse(hn::Gt(magnitude, splat_int(kInfBits)), splat_int(0x7E00), out);
  return hn::Or(out, sign);
}

// Does what float_from_f16 of float_convert.h does, for codes in the low 16 bits.
HWY_INLINE Float float_from_f16_bits(Int half) {
  const Int sign = hn::ShiftLeft<16>(hn::And(half, splat_int(0x8000)));
  const Int magnitude = hn::And(half, splat_int(0x7FFF));
  const Int shifted = hn::ShiftLeft<13>(magnitude);
  const Int normal = hn::Add(shifted, splat_int(0x38000000));
  const Int small =
      bits_of(hn::Sub(float_of(hn::Or(magnitude, splat_int(0x3F000000))), splat(0.5f)));
  const Int nan = hn::IfThenElseZero(hn::Gt(magnitude, splat_int(0x7C00)), splat_int(0x00400000));
  const Int special = hn::Or(hn::Or(shifted, splat_int(kInfBits)), nan);
  Int out = hn::IfThenElse(hn::Lt(magnitude, splat_int(0x0400)), small, normal);
  out = hn::IfThenElse(hn::Gt(magnitude, splat_int(0x7BFF)), special, out);
  return float_of(hn::Or(out, sign));
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_LANES_H
