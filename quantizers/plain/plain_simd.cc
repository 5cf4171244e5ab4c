// Kernels of plain_simd.h. They convert vector by vector, and the rest with float_convert.h.
//
// Note: the processors' own conversion to half floats keeps the payload of a NaN, which
// float_convert.h does not, so NaNs are replaced first.
#include "quantizers/plain/plain_simd.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/model/float_convert.h"
#include "core/simd/dispatch.h"

#ifndef CKPT_PLAIN_SIMD_SCALAR
#define CKPT_PLAIN_SIMD_SCALAR
// Name, element, load and store of vectors, conversions of one number.
// clang-format off
#define CKPT_PLAIN_TYPES(ROW) \
  ROW(bf16, uint16_t, load_bf16, store_bf16_pair, float_from_bf16, bf16_from_float) \
  ROW(f16, uint16_t, load_f16, store_f16_pair, float_from_f16, f16_from_float) \
  ROW(f8_e4m3, uint8_t, load_f8<3>, store_f8_pair<3>, float_from_e4m3, e4m3_from_float) \
  ROW(f8_e5m2, uint8_t, load_f8<2>, store_f8_pair<2>, float_from_e5m2, e5m2_from_float)
// clang-format on

namespace ckpt {
namespace {

bool decode_bf16_below_scalar(float end, const std::byte* in, uint64_t count, float* values) {
  bool is_below = true;
  for (uint64_t i = 0; i < count; ++i) {
    uint16_t code;
    std::memcpy(&code, in + i * sizeof code, sizeof code);
    values[i] = float_from_bf16(code);
    is_below = is_below && std::fabs(values[i]) < end;
  }
  return is_below;
}

}  // namespace
}  // namespace ckpt
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/plain/plain_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

using HalfTag = hn::Rebind<uint16_t, FloatTag>;  // kLanes 16-bit words

HWY_INLINE Int load_u16(const std::byte* in) {
  return hn::PromoteTo(kI, hn::LoadU(HalfTag(), reinterpret_cast<const uint16_t*>(in)));
}
HWY_INLINE Int load_u8(const std::byte* in) {
  return hn::PromoteTo(kI, hn::LoadU(ByteTag(), reinterpret_cast<const uint8_t*>(in)));
}

// Stores the upper (kOdd) or lower halves of two vectors' 32-bit words, in order.
template <bool kOdd>
HWY_INLINE void store_halves(Int low, Int high, std::byte* out) {
  const hn::Repartition<uint16_t, FloatTag> d;
  const auto a = hn::BitCast(d, low);
  const auto b = hn::BitCast(d, high);
  const auto halves = kOdd ? hn::ConcatOdd(d, b, a) : hn::ConcatEven(d, b, a);
  hn::StoreU(halves, d, reinterpret_cast<uint16_t*>(out));
}

template <class Element, Float (*kVector)(const std::byte*), float (*kScalar)(Element)>
HWY_INLINE void decode_each(const std::byte* in, uint64_t count, float* values) {
  uint64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(kVector(in + i * sizeof(Element)), kF, values + i);
  }
  for (; i < count; ++i) {
    Element element;
    std::memcpy(&element, in + i * sizeof(Element), sizeof(Element));
    values[i] = kScalar(element);
  }
}

// kPair stores two vectors.
template <class Element, void (*kPair)(Float, Float, std::byte*), Element (*kScalar)(float)>
HWY_INLINE void encode_each(const float* values, uint64_t count, std::byte* out) {
  uint64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    kPair(hn::LoadU(kF, values + i), hn::LoadU(kF, values + i + kLanes), out + i * sizeof(Element));
  }
  for (; i < count; ++i) {
    const Element element = kScalar(values[i]);
    std::memcpy(out + i * sizeof(Element), &element, sizeof(Element));
  }
}

// ---- bf16 -------------------------------------------------------------------------------------

HWY_INLINE Float load_bf16(const std::byte* in) {
  return float_of(hn::ShiftLeft<16>(load_u16(in)));
}

// Returns the code in the upper half.
HWY_INLINE Int bf16_upper_half(Float value) {
  const Int bits = bits_of(value);
  const Int odd = hn::BitCast(kI, hn::ShiftRight<31>(hn::BitCast(kW, hn::ShiftLeft<15>(bits))));
  const Int rounded = hn::Add(hn::Add(bits, splat_int(0x7FFF)), odd);
  const auto is_nan = hn::Gt(magnitude_bits(value), splat_int(kInfBits));
  return hn::IfThenElse(is_nan, hn::Or(bits, splat_int(0x00400000)), rounded);
}

HWY_INLINE void store_bf16_pair(Float low, Float high, std::byte* out) {
  store_halves<true>(bf16_upper_half(low), bf16_upper_half(high), out);
}

// ---- f16 --------------------------------------------------------------------------------------

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
using HalfFloatTag = hn::Rebind<hwy::float16_t, FloatTag>;

HWY_INLINE Float load_f16(const std::byte* in) {
  return hn::PromoteTo(kF, hn::LoadU(HalfFloatTag(), reinterpret_cast<const hwy::float16_t*>(in)));
}

HWY_INLINE void store_f16(Float value, std::byte* out) {
  const Int sign = hn::AndNot(splat_int(0x7FFFFFFF), bits_of(value));
  const Float nan = float_of(hn::Or(sign, splat_int(0x7FC00000)));
  const Float number = hn::IfThenElse(hn::IsNaN(value), nan, value);
  hn::StoreU(hn::DemoteTo(HalfFloatTag(), number), HalfFloatTag(),
             reinterpret_cast<hwy::float16_t*>(out));
}

HWY_INLINE void store_f16_pair(Float low, Float high, std::byte* out) {
  store_f16(low, out);
  store_f16(high, out + 2 * kLanes);
}
#else
HWY_INLINE Float load_f16(const std::byte* in) { return float_from_f16_bits(load_u16(in)); }

HWY_INLINE void store_f16_pair(Float low, Float high, std::byte* out) {
  store_halves<false>(f16_bits_from_float(low), f16_bits_from_float(high), out);
}
#endif

// ---- f8 ---------------------------------------------------------------------------------------

template <int kMantissa>
inline constexpr F8Format kF8 = kMantissa == 3 ? kE4M3 : kE5M2;

// Decodes codes in the low 8 bits. Below 2^-126 the shifted code is a subnormal float; an exact
// multiplication adds the missing exponent and makes it normal.
template <int kMantissa>
HWY_INLINE Float float_from_f8_bits(Int code) {
  constexpr F8Format kFormat = kF8<kMantissa>;
  const Int sign = hn::ShiftLeft<24>(hn::And(code, splat_int(0x80)));
  const Int magnitude = hn::And(code, splat_int(0x7F));
  const Float rebias = float_of(splat_int((254 - kFormat.bias) << 23));
  const Float number = hn::Mul(float_of(hn::ShiftLeft<23 - kMantissa>(magnitude)), rebias);
  const auto is_special = hn::Gt(magnitude, splat_int(static_cast<int32_t>(kFormat.largest)));
  const auto is_inf = hn::Eq(magnitude, splat_int(kMantissa == 2 ? 0x7C : -1));
  const Int special = hn::IfThenElse(is_inf, splat_int(kInfBits), splat_int(0x7FC00000));
  return float_of(hn::Or(hn::IfThenElse(is_special, special, bits_of(number)), sign));
}

// Does what f8_from_float of float_convert.h does, in the low 8 bits.
template <int kMantissa>
HWY_INLINE Int f8_bits_from_float(Float value) {
  constexpr F8Format kFormat = kF8<kMantissa>;
  constexpr int kShift = 23 - kMantissa;
  constexpr int32_t kSmallestNormal = (128 - kFormat.bias) << 23;
  constexpr int32_t kAnchor = kSmallestNormal + (kShift << 23);
  constexpr auto kLargest = static_cast<int32_t>(kFormat.largest);
  const Int sign = hn::And(hn::BitCast(kI, hn::ShiftRight<24>(hn::BitCast(kW, bits_of(value)))),
                           splat_int(0x80));
  const Int magnitude = magnitude_bits(value);
  const Int small = hn::Sub(bits_of(hn::Add(float_of(magnitude), float_of(splat_int(kAnchor)))),
                            splat_int(kAnchor));
  const Int odd = hn::And(hn::ShiftRight<kShift>(magnitude), splat_int(1));
  const Int half = hn::Add(odd, splat_int((1 << (kShift - 1)) - 1 - ((127 - kFormat.bias) << 23)));
  const Int normal = hn::ShiftRight<kShift>(hn::Add(magnitude, half));
  Int code = hn::IfThenElse(hn::Lt(magnitude, splat_int(kSmallestNormal)), small, normal);
  code = hn::Min(code, splat_int(kLargest));
  code = hn::IfThenElse(hn::Gt(magnitude, splat_int(kInfBits)),
                        splat_int(static_cast<int32_t>(kFormat.nan)), code);
  return hn::Or(code, sign);
}

template <int kMantissa>
HWY_INLINE Float load_f8(const std::byte* in) {
  return float_from_f8_bits<kMantissa>(load_u8(in));
}

template <int kMantissa>
HWY_INLINE void store_f8_pair(Float low, Float high, std::byte* out) {
  auto* bytes = reinterpret_cast<uint8_t*>(out);
  hn::StoreU(low_bytes(f8_bits_from_float<kMantissa>(low)), ByteTag(), bytes);
  hn::StoreU(low_bytes(f8_bits_from_float<kMantissa>(high)), ByteTag(), bytes + kLanes);
}

}  // namespace

// ---- what is exported -------------------------------------------------------------------------

// Adding the difference to `end`'s bits carries into the sign bit for magnitudes from `end` on.
bool from_bf16_below(float end, const std::byte* in, uint64_t count, float* values) {
  const Int lacking = splat_int(static_cast<int32_t>(0x80000000u - std::bit_cast<uint32_t>(end)));
  Int carries = hn::Zero(kI);
  uint64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Float value = load_bf16(in + i * sizeof(uint16_t));
    hn::StoreU(value, kF, values + i);
    const Int magnitude = hn::And(bits_of(value), splat_int(0x7FFFFFFF));
    carries = hn::Or(carries, hn::Add(magnitude, lacking));
  }
  const bool rest = decode_bf16_below_scalar(end, in + i * sizeof(uint16_t), count - i, values + i);
  return rest && hn::AllFalse(kI, hn::Lt(carries, hn::Zero(kI)));
}
#define CKPT_KERNELS(name, Element, load, store_pair, decode, encode)    \
  void from_##name(const std::byte* in, uint64_t count, float* values) { \
    decode_each<Element, load, decode>(in, count, values);               \
  }                                                                      \
  void to_##name(const float* values, uint64_t count, std::byte* out) {  \
    encode_each<Element, store_pair, encode>(values, count, out);        \
  }
CKPT_PLAIN_TYPES(CKPT_KERNELS)
#undef CKPT_KERNELS

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {
namespace {

template <class Element, float (*kConvert)(Element)>
void decode_scalar(const std::byte* in, uint64_t count, float* values) {
  for (uint64_t i = 0; i < count; ++i) {
    Element element;
    std::memcpy(&element, in + i * sizeof(Element), sizeof(Element));
    values[i] = kConvert(element);
  }
}

template <class Element, Element (*kConvert)(float)>
void encode_scalar(const float* values, uint64_t count, std::byte* out) {
  for (uint64_t i = 0; i < count; ++i) {
    const Element element = kConvert(values[i]);
    std::memcpy(out + i * sizeof(Element), &element, sizeof(Element));
  }
}

#define CKPT_TWINS(name, Element, load, store_pair, decode, encode)       \
  constexpr auto decode_##name##_scalar = decode_scalar<Element, decode>; \
  constexpr auto encode_##name##_scalar = encode_scalar<Element, encode>;
CKPT_PLAIN_TYPES(CKPT_TWINS)
#undef CKPT_TWINS

}  // namespace

#define CKPT_EXPORTED(name, ...)                           \
  CKPT_SIMD_DECODER(decode_##name, from_##name, std::byte) \
  CKPT_SIMD_ENCODER(encode_##name, to_##name, std::byte)
CKPT_PLAIN_TYPES(CKPT_EXPORTED)
#undef CKPT_EXPORTED
CKPT_SIMD_FUNCTION(bool, decode_bf16_below, from_bf16_below,
                   (float end, const std::byte* in, uint64_t count, float* values),
                   (end, in, count, values))

}  // namespace ckpt
#endif  // HWY_ONCE
