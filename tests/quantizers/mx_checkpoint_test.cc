// MXFP8 and MXFP4 in parts: exponents, codes, and what decoding gives.
#include <gtest/gtest.h>

#include <cmath>

#include "quantizers/quantizers.h"
#include "tests/quantizers/common.h"
#include "tests/quantizers/parts.h"

namespace ckpt {
namespace {

// The exponent byte of a block whose largest magnitude is `amax`.
int exponent_of(std::string_view codec, float amax) {
  std::vector<float> values(32, amax / 16);
  values[17] = -amax;
  return static_cast<int>(encode_with(codec_named(codec), values, 32, {}).bytes(1)[0]);
}

TEST(Mxfp8, TheExponentIsTheSmallestThatHoldsTheBlock) {
  EXPECT_EQ(exponent_of("mxfp8", 448), 127);
  EXPECT_EQ(exponent_of("mxfp8", 448.5f), 128);
  EXPECT_EQ(exponent_of("mxfp8", 447), 127);
  EXPECT_EQ(exponent_of("mxfp8", 224), 126);
  EXPECT_EQ(exponent_of("mxfp8", 0), 0);
  EXPECT_EQ(exponent_of("mxfp8", 1e-44f), 0);
  // Within a rounding of the logarithm, the power of two below holds it.
  EXPECT_EQ(exponent_of("mxfp8", 448 * 1024 * (1 + 0x1p-22f)), 137);
  EXPECT_EQ(exponent_of("mxfp8", 448 * 1024 * (1 + 0x1p-14f)), 138);
  EXPECT_EQ(exponent_of("mxfp8_e8m0", 448.5f), 128);
}

TEST(Mxfp4Modelopt, TheExponentIsTheSmallestThatHoldsTheBlock) {
  EXPECT_EQ(exponent_of("mxfp4_modelopt", 6), 127);
  EXPECT_EQ(exponent_of("mxfp4_modelopt", 6.5f), 128);
  EXPECT_EQ(exponent_of("mxfp4_modelopt", 0.75f), 124);
}

TEST(Mxfp4Ct, TheExponentRoundsUpFromSevenEighthsOfTheNext) {
  EXPECT_EQ(exponent_of("mxfp4_ct", 4), 127);
  EXPECT_EQ(exponent_of("mxfp4_ct", 6), 127);
  EXPECT_EQ(exponent_of("mxfp4_ct", 6.96875f), 127);
  EXPECT_EQ(exponent_of("mxfp4_ct", 7), 128);
  EXPECT_EQ(exponent_of("mxfp4_ct", 0), 0);
}

TEST(Mxfp4, CodesOfTiesAndZeros) {
  std::vector<float> values(32, 0.0f);
  const float ties[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f, 6.0f};
  for (size_t i = 0; i < 8; ++i) {
    values[i] = ties[i];
    values[8 + i] = -ties[i];
  }
  const auto nearest_even = encode_with(codec_named("mxfp4_ct"), values, 32, {}).bytes(0);
  const auto towards_zero = encode_with(codec_named("mxfp4_modelopt"), values, 32, {}).bytes(0);
  const int even[] = {0x20, 0x42, 0x64, 0x76, 0xA8, 0xCA, 0xEC, 0xFE, 0x00};
  const int zero[] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE, 0x88};
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(static_cast<int>(nearest_even[i]), even[i]) << i;
    EXPECT_EQ(static_cast<int>(towards_zero[i]), zero[i]) << i;
  }
}

TEST(Mx, DecodedValuesAreCodesTimesPowersOfTwo) {
  Random random(2);
  std::vector<float> values(32 * 101);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = random.normal() * std::ldexp(1.0f, static_cast<int>(i / 32) - 50);
  }
  for (const char* name : {"mxfp8", "mxfp8_e8m0", "mxfp4_ct", "mxfp4_modelopt"}) {
    const Codec& codec = codec_named(name);
    const PartBuffers encoded = encode_with(codec, values, values.size(), {});
    std::vector<float> decoded(values.size());
    codec.decode(encoded.const_parts(), {decoded, decoded.size()});
    const bool four_bits = std::string_view(name).starts_with("mxfp4");
    for (size_t i = 0; i < values.size(); ++i) {
      const auto byte = static_cast<uint8_t>(encoded.bytes(0)[four_bits ? i / 2 : i]);
      const auto exponent = static_cast<int>(encoded.bytes(1)[i / 32]) - 127;
      const int nibble = i % 2 == 0 ? byte & 15 : byte >> 4;
      const float e2m1[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
      const float code =
          !four_bits ? float_from_e4m3(byte) : (nibble < 8 ? 1.0f : -1.0f) * e2m1[nibble & 7];
      ASSERT_EQ(decoded[i], std::ldexp(code, exponent)) << name << " " << i;
      // Half a step of the largest numbers; E2M1 may saturate by a quarter of a power more.
      const float largest = std::ldexp(four_bits ? 1.0f : 16.0f, exponent);
      ASSERT_LE(std::fabs(decoded[i] - values[i]), largest) << name << " " << i;
      if (i % 32 == 5) i += 26;  // bytes() copies; a few of each block are enough
    }
  }
}

}  // namespace
}  // namespace ckpt
