// The kernels of IQ4_NL and IQ4_XS where two entries of the table are about equally near.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/codebook/iq4.h"
#include "tests/quantizers/common.h"

namespace ckpt {
namespace {

// Appends `value` and the forty floats below and above it.
void add_neighbors(float value, std::vector<float>& out) {
  const auto bits = std::bit_cast<int32_t>(value);
  for (int32_t step = -40; step <= 40; ++step) out.push_back(std::bit_cast<float>(bits + step));
}

std::vector<float> values_about_bounds() {
  std::vector<float> out;
  for (int i = 0; i < 16; ++i) {
    add_neighbors(kIq4Table[i], out);
    if (i < 15) add_neighbors(0.5F * static_cast<float>(kIq4Table[i] + kIq4Table[i + 1]), out);
  }
  for (const float value : {0.0F, -0.0F, 1e-40F, -1e-40F, 1e38F, -1e38F, kInf, -kInf, kNan}) {
    out.push_back(value);
  }
  while (out.size() % kIq4Values != 0) out.push_back(0);
  return out;
}

TEST(SimdIq4, CodesAboutEveryBoundEqualTheScalarTwins) {
  const std::vector<float> values = values_about_bounds();
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    for (size_t at = 0; at < values.size(); at += kIq4Values) {
      uint8_t expected[kIq4Values];
      uint8_t found[kIq4Values];
      find_iq4_codes_scalar(values.data() + at, 1, expected);
      find_iq4_codes(values.data() + at, 1, found);
      for (size_t i = 0; i < kIq4Values; ++i) {
        ASSERT_EQ(found[i], expected[i]) << simd_target_name(target) << " " << values[at + i];
      }
    }
  }
}

TEST(SimdIq4, SumsAboutEveryBoundEqualTheScalarTwins) {
  std::vector<float> values = values_about_bounds();
  std::erase_if(values, [](float value) { return !(value > -200 && value < 200); });
  values.resize(values.size() / kIq4Values * kIq4Values);
  float weights[kIq4Values];
  for (size_t i = 0; i < kIq4Values; ++i) weights[i] = static_cast<float>(i * 37 % 101) / 16;
  float inverses[kIq4Tries];
  for (size_t i = 0; i < kIq4Tries; ++i) inverses[i] = i == 0 ? 1 : 1 / static_cast<float>(i);
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    for (size_t at = 0; at < values.size(); at += kIq4Values) {
      Iq4Sums expected;
      Iq4Sums found;
      sum_iq4_scalar(values.data() + at, weights, inverses, expected);
      sum_iq4(values.data() + at, weights, inverses, found);
      for (size_t i = 0; i < kIq4Tries; ++i) {
        ASSERT_EQ(found.wqx[i], expected.wqx[i]) << simd_target_name(target) << " " << values[at];
        ASSERT_EQ(found.wqq[i], expected.wqq[i]) << simd_target_name(target) << " " << values[at];
      }
    }
  }
}

}  // namespace
}  // namespace ckpt
