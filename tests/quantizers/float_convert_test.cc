#include "core/model/float_convert.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quantizers/rounding.h"
#include "tests/quantizers/common.h"

namespace ckpt {
namespace {

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

// The value of a code's fields, written with ldexp; Inf and NaN are left to the caller.
float number_of(uint32_t code, int exponent_bits, int mantissa_bits, int bias) {
  const auto mantissa = static_cast<float>(code & ((1u << mantissa_bits) - 1));
  const int exponent = static_cast<int>(code >> mantissa_bits & ((1u << exponent_bits) - 1));
  const float sign = (code >> (exponent_bits + mantissa_bits) & 1) != 0 ? -1.0f : 1.0f;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + static_cast<float>(1 << mantissa_bits),
                           exponent - bias - mantissa_bits);
}

// For all finite codes c below `last`: c comes back, the middle between c and c + 1 goes to the
// even one, and its neighbors go to the nearer one. Both signs.
template <class Code>
void check_rounding(Code last, Code sign, float (*decode)(Code), Code (*encode)(float)) {
  for (uint32_t c = 0; c < last; ++c) {
    const auto code = static_cast<Code>(c);
    const auto next = static_cast<Code>(c + 1);
    const double low = static_cast<double>(decode(code));
    const double high = static_cast<double>(decode(next));
    const auto middle = static_cast<float>((low + high) / 2);
    const Code even = c % 2 == 0 ? code : next;
    ASSERT_EQ(encode(static_cast<float>(low)), code) << c;
    ASSERT_EQ(encode(middle), even) << c;
    ASSERT_EQ(encode(std::nextafter(middle, 0.0f)), code) << c;
    ASSERT_EQ(encode(std::nextafter(middle, kInf)), next) << c;
    ASSERT_EQ(encode(-middle), even | sign) << c;
    ASSERT_EQ(encode(-static_cast<float>(low)), code | sign) << c;
  }
}

TEST(FloatConvert, F16DecodesEveryCode) {
  for (uint32_t c = 0; c < 65536; ++c) {
    const float value = float_from_f16(static_cast<uint16_t>(c));
    if ((c & 0x7C00) != 0x7C00) {
      ASSERT_EQ(bits_of(value), bits_of(number_of(c, 5, 10, 15))) << c;
    } else if ((c & 0x3FF) == 0) {
      ASSERT_EQ(value, c == 0x7C00 ? kInf : -kInf);
    } else {
      ASSERT_TRUE(std::isnan(value)) << c;
      ASSERT_EQ(f16_from_float(value), (c & 0x8000) | 0x7E00) << c;
    }
  }
}

TEST(FloatConvert, F16RoundsToNearestEven) {
  check_rounding<uint16_t>(0x7BFF, 0x8000, float_from_f16, f16_from_float);
  EXPECT_EQ(f16_from_float(65504.0f), 0x7BFF);
  EXPECT_EQ(f16_from_float(std::nextafter(65520.0f, 0.0f)), 0x7BFF);
  EXPECT_EQ(f16_from_float(65520.0f), 0x7C00);
  EXPECT_EQ(f16_from_float(-3e38f), 0xFC00);
  EXPECT_EQ(f16_from_float(-kInf), 0xFC00);
  EXPECT_EQ(f16_from_float(0x1p-25f), 0);
  EXPECT_EQ(f16_from_float(std::nextafter(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(f16_from_float(1e-45f), 0);
  EXPECT_EQ(f16_from_float(std::bit_cast<float>(0xFF800001u)), 0xFE00);
}

TEST(FloatConvert, Bf16DecodesAndRoundsEveryCode) {
  for (uint32_t c = 0; c < 65536; ++c) {
    const auto code = static_cast<uint16_t>(c);
    ASSERT_EQ(bits_of(float_from_bf16(code)), c << 16);
    const bool is_nan = (c & 0x7FFF) > 0x7F80;
    ASSERT_EQ(bf16_from_float(float_from_bf16(code)), is_nan ? c | 0x40 : c);
  }
  check_rounding<uint16_t>(0x7F7F, 0x8000, float_from_bf16, bf16_from_float);
  EXPECT_EQ(bf16_from_float(std::bit_cast<float>(0x7F7F7FFFu)), 0x7F7F);
  EXPECT_EQ(bf16_from_float(std::bit_cast<float>(0x7F7F8000u)), 0x7F80);  // overflow to Inf
  EXPECT_EQ(bf16_from_float(std::bit_cast<float>(0x7F800001u)), 0x7FC0);  // a NaN stays one
}

TEST(FloatConvert, E4M3DecodesAndRoundsEveryCode) {
  for (uint32_t c = 0; c < 256; ++c) {
    const float value = float_from_e4m3(static_cast<uint8_t>(c));
    if ((c & 0x7F) == 0x7F) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_EQ(bits_of(value), bits_of(number_of(c, 4, 3, 7))) << c;
    }
  }
  check_rounding<uint8_t>(0x7E, 0x80, float_from_e4m3, e4m3_from_float);
  for (const float large : {448.0f, 464.0f, 480.0f, 1e10f, 3e38f, kInf}) {
    EXPECT_EQ(e4m3_from_float(large), 0x7E) << large;
    EXPECT_EQ(e4m3_from_float(-large), 0xFE) << large;
  }
  EXPECT_EQ(e4m3_from_float(kNan), 0x7F);
  EXPECT_EQ(e4m3_from_float(-0.0f), 0x80);
}

TEST(FloatConvert, E5M2DecodesAndRoundsEveryCode) {
  for (uint32_t c = 0; c < 256; ++c) {
    const float value = float_from_e5m2(static_cast<uint8_t>(c));
    if ((c & 0x7F) > 0x7C) {
      EXPECT_TRUE(std::isnan(value));
    } else if ((c & 0x7F) == 0x7C) {
      EXPECT_EQ(value, c == 0x7C ? kInf : -kInf);
    } else {
      EXPECT_EQ(bits_of(value), bits_of(number_of(c, 5, 2, 15))) << c;
    }
  }
  check_rounding<uint8_t>(0x7B, 0x80, float_from_e5m2, e5m2_from_float);
  for (const float large : {57344.0f, 61440.0f, 65536.0f, 3e38f, kInf}) {
    EXPECT_EQ(e5m2_from_float(large), 0x7B) << large;
    EXPECT_EQ(e5m2_from_float(-large), 0xFB) << large;
  }
  EXPECT_EQ(e5m2_from_float(kNan), 0x7F);
}

TEST(FloatConvert, E8M0DecodesEveryCode) {
  for (int c = 0; c < 255; ++c) {
    EXPECT_EQ(float_from_e8m0(static_cast<uint8_t>(c)), std::ldexp(1.0f, c - 127));
  }
  EXPECT_TRUE(std::isnan(float_from_e8m0(255)));
}

TEST(FloatConvert, Ue4m3DecodesEveryCode) {
  for (uint32_t c = 0; c < 256; ++c) {
    const float expected = c == 0x7F ? 0.0f : number_of(c & 0x7F, 4, 3, 7);
    EXPECT_EQ(float_from_ue4m3(static_cast<uint8_t>(c)), expected) << c;
  }
}

TEST(FloatConvert, Ue4m3RoundsHalfUp) {
  for (uint32_t c = 1; c < 0x77; ++c) {
    const float low = float_from_ue4m3(static_cast<uint8_t>(c));
    const float middle = (low + float_from_ue4m3(static_cast<uint8_t>(c + 1))) / 2;
    EXPECT_EQ(ue4m3_from_float(low), c);
    EXPECT_EQ(ue4m3_from_float(std::nextafter(middle, 0.0f)), c) << c;
    if (c != 7) {  // numbers below 2^-6 stay at 7/512 however near they are
      EXPECT_EQ(ue4m3_from_float(middle), c + 1) << c;
    }
  }
  EXPECT_EQ(ue4m3_from_float(std::nextafter(0x1p-6f, 0.0f)), 7);
  EXPECT_EQ(ue4m3_from_float(0x1p-10f), 1);
  // One half is added in float, where the sum of the next number below rounds to 1 as well.
  EXPECT_EQ(ue4m3_from_float(std::nextafter(0x1p-10f, 0.0f)), 1);
  EXPECT_EQ(ue4m3_from_float(0x1.fffffcp-11f), 0);
  EXPECT_EQ(ue4m3_from_float(std::nextafter(248.0f, 0.0f)), 0x77);
  EXPECT_EQ(ue4m3_from_float(248.0f), 0x7E);  // the carry leaves the usable exponents
  for (const float large : {256.0f, 300.0f, 448.0f, 3e38f, kInf}) {
    EXPECT_EQ(ue4m3_from_float(large), 0x7E) << large;
  }
  for (const float none : {0.0f, -0.0f, -1.0f, -kInf, kNan}) EXPECT_EQ(ue4m3_from_float(none), 0);
}

TEST(Rounding, RoundToIntIsNearestEvenInRange) {
  for (int i = -4'194'303; i < 4'194'303; i += 7) {
    ASSERT_EQ(round_to_int(static_cast<float>(i)), i);
  }
  for (int i = -2000; i < 2000; ++i) {
    const float half = static_cast<float>(i) + 0.5f;
    ASSERT_EQ(round_to_int(half), static_cast<int>(std::nearbyint(half))) << half;
    ASSERT_EQ(round_to_int(std::nextafter(half, -kInf)), i) << half;
    ASSERT_EQ(round_to_int(std::nextafter(half, kInf)), i + 1) << half;
  }
  EXPECT_EQ(round_to_int(kInf), -4194304);
  EXPECT_EQ(round_to_int(-kInf), -4194304);
}

TEST(Rounding, RoundHalfAwayIsRoundf) {
  for (int i = -300; i < 300; ++i) {
    for (const float base : {static_cast<float>(i), static_cast<float>(i) + 0.5f}) {
      float value = base;
      for (int step = 0; step < 64; ++step) value = std::nextafter(value, -kInf);
      for (int step = 0; step < 128; ++step, value = std::nextafter(value, kInf)) {
        ASSERT_EQ(round_half_away(value), static_cast<int>(std::round(value))) << value;
      }
    }
  }
  for (const float none : {kInf, -kInf, kNan, 3e9f, -3e9f}) {
    EXPECT_EQ(round_half_away(none), INT32_MIN) << none;
  }
}

TEST(Rounding, TruncateGivesTheMinimumForWhatDoesNotFit) {
  EXPECT_EQ(truncate_to_int(2.999f), 2);
  EXPECT_EQ(truncate_to_int(-2.999f), -2);
  EXPECT_EQ(truncate_to_int(-0x1p31f), INT32_MIN);
  EXPECT_EQ(truncate_to_int(std::nextafter(0x1p31f, 0.0f)), 2147483520);
  for (const float none : {0x1p31f, kInf, -kInf, kNan}) {
    EXPECT_EQ(truncate_to_int(none), INT32_MIN) << none;
  }
}

}  // namespace
}  // namespace ckpt
