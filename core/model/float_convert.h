// Conversions between float and the narrower floating-point formats, one number at a time.
//
//            sign exp man   bias  largest  Inf   NaN            from float
//   f16        1   5   10     15    65504  yes   yes            nearest even, overflow to Inf
//   bf16       1   8    7    127   3.39e38 yes   yes            nearest even, overflow to Inf
//   f8_e5m2    1   5    2     15    57344  yes   yes            nearest even, saturates
//   f8_e4m3    1   4    3      7      448  no    0x7F, 0xFF     nearest even, saturates
//   f8_e8m0    0   8    0    127   2^127   no    0xFF           -
//   ue4m3      0   4    3      7      448  no    0x00, 0x7F=0   ggml's own rounding, see below
//
// All have subnormals except f8_e8m0. Note: a NaN becomes sign|0x7E00 in f16 (its payload is lost)
// but keeps its payload's upper bits in bf16; the two f8 formats saturate Inf to their largest
// number (OCP 8-bit floating point, saturating mode). Sources: llama.cpp ggml/src/ggml-impl.h; OCP
// OFP8 1.0; OCP Microscaling 1.0.
#pragma once

#include <bit>
#include <cstdint>

namespace ckpt {

inline float float_from_f16(uint16_t half) {
  const uint32_t sign = (uint32_t{half} & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7FFFu;
  if (magnitude >= 0x7C00u) {  // Inf; NaN becomes quiet, as in hardware
    const uint32_t quiet = magnitude > 0x7C00u ? 0x00400000u : 0u;
    return std::bit_cast<float>(sign | 0x7F800000u | quiet | (magnitude & 0x3FFu) << 13);
  }
  if (magnitude < 0x0400u) {  // the code counts 2^-24, which is the last bit of a float in [.5, 1)
    const float number = std::bit_cast<float>(magnitude | 0x3F000000u) - 0.5f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(number));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

inline uint16_t f16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // from 65520 on
  if (magnitude < 0x38800000u) {  // below 2^-14: the sum's last bit is worth 2^-24, as the code's
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000u));
  }
  const uint32_t rounded = magnitude + 0xFFFu + (magnitude >> 13 & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

inline float float_from_bf16(uint16_t code) { return std::bit_cast<float>(uint32_t{code} << 16); }

inline uint16_t bf16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

// An f8 format. Exponent bits and bias follow from the mantissa bits of its 7-bit magnitude.
struct F8Format {
  int mantissa_bits;
  int bias;
  uint32_t largest;  // code of the largest finite number
  uint32_t nan;      // a NaN code
};
inline constexpr F8Format kE4M3{3, 7, 0x7E, 0x7F};
inline constexpr F8Format kE5M2{2, 15, 0x7B, 0x7F};

// Requires: the code is finite.
inline float float_from_f8_magnitude(uint32_t magnitude, const F8Format& format) {
  const auto rebias = static_cast<uint32_t>(254 - format.bias) << 23;
  const uint32_t raw = magnitude << (23 - format.mantissa_bits);
  return std::bit_cast<float>(raw) * std::bit_cast<float>(rebias);
}

inline float float_from_f8(uint8_t code, const F8Format& format) {
  const uint32_t sign = (uint32_t{code} & 0x80u) << 24;
  const uint32_t magnitude = code & 0x7Fu;
  uint32_t bits = 0;
  if (magnitude <= format.largest) {
    bits = std::bit_cast<uint32_t>(float_from_f8_magnitude(magnitude, format));
  } else if (format.mantissa_bits == 2 && magnitude == 0x7C) {
    bits = 0x7F800000u;
  } else {
    bits = 0x7FC00000u;
  }
  return std::bit_cast<float>(sign | bits);
}

inline uint8_t f8_from_float(float value, const F8Format& format) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 24 & 0x80u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint8_t>(sign | format.nan);
  const int shift = 23 - format.mantissa_bits;
  const auto smallest_normal = static_cast<uint32_t>(128 - format.bias) << 23;
  uint32_t code = 0;
  if (magnitude < smallest_normal) {
    // Adding a power of two whose last bit is worth one subnormal step rounds the value.
    const uint32_t anchor = smallest_normal + (static_cast<uint32_t>(shift) << 23);
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(anchor);
    code = std::bit_cast<uint32_t>(sum) - anchor;
  } else {
    const uint32_t half = (1u << (shift - 1)) - 1u + (magnitude >> shift & 1u);
    code = (magnitude + half - (static_cast<uint32_t>(127 - format.bias) << 23)) >> shift;
  }
  return static_cast<uint8_t>(sign | (code < format.largest ? code : format.largest));
}

inline float float_from_e4m3(uint8_t code) { return float_from_f8(code, kE4M3); }
inline float float_from_e5m2(uint8_t code) { return float_from_f8(code, kE5M2); }
inline uint8_t e4m3_from_float(float value) { return f8_from_float(value, kE4M3); }
inline uint8_t e5m2_from_float(float value) { return f8_from_float(value, kE5M2); }

// Returns 2^(code - 127); 0xFF is NaN.
inline float float_from_e8m0(uint8_t code) {
  if (code == 0xFF) return std::bit_cast<float>(0x7FC00000u);
  return std::bit_cast<float>(code == 0 ? 0x00400000u : uint32_t{code} << 23);
}

// Decodes the scale of ggml's NVFP4 block. Bit 7 should be 0 and is ignored, so that 0xFF, unlike
// 0x7F, is the number 480.
inline float float_from_ue4m3(uint8_t code) {
  if (code == 0 || code == 0x7F) return 0;
  return float_from_f8_magnitude(code & 0x7Fu, kE4M3);
}

// Rounds half up; numbers below 2^-6 become at most 7/512; numbers from 256 on get the code of 448.
inline uint8_t ue4m3_from_float(float value) {
  if (!(value > 0)) return 0;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value < 0x1p-6f) {
    const auto steps = static_cast<int>(value * 512.0f + 0.5f);
    return static_cast<uint8_t>(steps < 7 ? steps : 7);
  }
  const uint32_t code = (bits - (120u << 23) + (1u << 19)) >> 20;
  return static_cast<uint8_t>(code < 0x78u ? code : 0x7Eu);
}

}  // namespace ckpt
