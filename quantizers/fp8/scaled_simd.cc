// Kernels of scaled.h. They process vector after vector, and the rest value by value.
//
// Note: magnitudes are compared as integers, which order as floats do and also order NaN.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/model/float_convert.h"
#include "core/simd/dispatch.h"
#include "quantizers/fp8/scaled.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/fp8/scaled_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// |value| as an integer, 0 for Inf and NaN.
HWY_INLINE Int finite_magnitude(Float value) {
  const Int magnitude = magnitude_bits(value);
  return hn::IfThenElseZero(hn::Lt(magnitude, splat_int(kInfBits)), magnitude);
}

// Rounds a finite number or an infinity to bfloat16; NaN stays NaN.
HWY_INLINE Float round_to_bf16(Float value) {
  const Int bits = bits_of(value);
  const Int odd = hn::And(hn::ShiftRight<16>(bits), splat_int(1));
  const Int rounded = hn::Add(hn::Add(bits, splat_int(0x7FFF)), odd);
  const auto is_nan = hn::Gt(magnitude_bits(value), splat_int(kInfBits));
  const Int out = hn::IfThenElse(is_nan, hn::Or(bits, splat_int(0x00400000)), rounded);
  return float_of(hn::And(out, splat_int(static_cast<int32_t>(0xFFFF0000))));
}

template <bool kToBf16>
HWY_INLINE void divide_all(const float* values, uint64_t count, float divisor, float* out) {
  const Float by = splat(divisor);
  uint64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Float quotient = hn::Div(hn::LoadU(kF, values + i), by);
    hn::StoreU(kToBf16 ? round_to_bf16(quotient) : quotient, kF, out + i);
  }
  divide_values_scalar(values + i, count - i, {divisor, kToBf16}, out + i);
}

}  // namespace

float largest(const float* values, uint64_t count) {
  Int m0 = hn::Zero(kI), m1 = m0, m2 = m0, m3 = m0;
  uint64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    m0 = hn::Max(m0, finite_magnitude(hn::LoadU(kF, values + i)));
    m1 = hn::Max(m1, finite_magnitude(hn::LoadU(kF, values + i + kLanes)));
    m2 = hn::Max(m2, finite_magnitude(hn::LoadU(kF, values + i + 2 * kLanes)));
    m3 = hn::Max(m3, finite_magnitude(hn::LoadU(kF, values + i + 3 * kLanes)));
  }
  for (; i + kLanes <= count; i += kLanes) {
    m0 = hn::Max(m0, finite_magnitude(hn::LoadU(kF, values + i)));
  }
  const Int all = hn::MaxOfLanes(kI, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3)));
  const float in_vectors = std::bit_cast<float>(hn::GetLane(all));
  const float in_tail = largest_finite_scalar(values + i, count - i);
  return in_vectors < in_tail ? in_tail : in_vectors;
}

uint16_t largest_half(const std::byte* values, uint64_t count) {
  constexpr hn::Repartition<uint16_t, FloatTag> d;
  constexpr size_t kHalves = 2 * kLanes;
  const auto load = [&](uint64_t at) HWY_ATTR {
    const hn::Repartition<uint8_t, FloatTag> bytes;
    const auto* in = reinterpret_cast<const uint8_t*>(values) + at * sizeof(uint16_t);
    return hn::And(hn::BitCast(d, hn::LoadU(bytes, in)), hn::Set(d, uint16_t{0x7FFF}));
  };
  auto m0 = hn::Zero(d), m1 = m0, m2 = m0, m3 = m0;
  uint64_t i = 0;
  for (; i + 4 * kHalves <= count; i += 4 * kHalves) {
    m0 = hn::Max(m0, load(i));
    m1 = hn::Max(m1, load(i + kHalves));
    m2 = hn::Max(m2, load(i + 2 * kHalves));
    m3 = hn::Max(m3, load(i + 3 * kHalves));
  }
  alignas(64) uint16_t lanes[kHalves];
  hn::Store(hn::Max(hn::Max(m0, m1), hn::Max(m2, m3)), d, lanes);
  return std::max(*std::max_element(lanes, lanes + kHalves),
                  largest_bf16_scalar(values + i * sizeof(uint16_t), count - i));
}

void divide(const float* values, uint64_t count, Division division, float* out) {
  if (division.to_bf16) return divide_all<true>(values, count, division.divisor, out);
  divide_all<false>(values, count, division.divisor, out);
}

void multiply(float* values, uint64_t count, float factor) {
  const Float by = splat(factor);
  uint64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(kF, values + i), by), kF, values + i);
  }
  multiply_values_scalar(values + i, count - i, factor);
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

float largest_finite_scalar(const float* values, uint64_t count) {
  uint32_t largest = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(values[i]) & 0x7FFFFFFFu;
    if (bits < 0x7F800000u && largest < bits) largest = bits;
  }
  return std::bit_cast<float>(largest);
}

uint16_t largest_bf16_scalar(const std::byte* values, uint64_t count) {
  uint16_t largest = 0;
  for (uint64_t i = 0; i < count; ++i, values += sizeof(uint16_t)) {
    uint16_t code;
    std::memcpy(&code, values, sizeof code);
    largest = std::max(largest, static_cast<uint16_t>(code & 0x7FFF));
  }
  return largest;
}

void divide_values_scalar(const float* values, uint64_t count, Division division, float* out) {
  for (uint64_t i = 0; i < count; ++i) {
    const float quotient = values[i] / division.divisor;
    out[i] = division.to_bf16 ? float_from_bf16(bf16_from_float(quotient)) : quotient;
  }
}

void multiply_values_scalar(float* values, uint64_t count, float factor) {
  for (uint64_t i = 0; i < count; ++i) values[i] = values[i] * factor;
}

CKPT_SIMD_FUNCTION(float, largest_finite, largest, (const float* values, uint64_t count),
                   (values, count))
CKPT_SIMD_FUNCTION(uint16_t, largest_bf16, largest_half, (const std::byte* values, uint64_t count),
                   (values, count))
CKPT_SIMD_FUNCTION(void, divide_values, divide,
                   (const float* values, uint64_t count, Division division, float* out),
                   (values, count, division, out))
CKPT_SIMD_FUNCTION(void, multiply_values, multiply, (float* values, uint64_t count, float factor),
                   (values, count, factor))

}  // namespace ckpt
#endif  // HWY_ONCE
