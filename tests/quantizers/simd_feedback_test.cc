// The kernels of error feedback against their scalar twins on every target of this processor:
// runs of any length, scales of zero, numbers that are none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_feedback_run.h"
#include "quantizers/nvfp4/checkpoint.h"

namespace ckpt {
namespace {

class SimdFeedback : public testing::TestWithParam<uint32_t> {
 protected:
  float normal(float deviation) { return std::normal_distribution<float>(0, deviation)(dice_); }
  std::vector<float> normals(size_t count, float deviation) {
    std::vector<float> out(count);
    for (float& each : out) each = normal(deviation);
    return out;
  }
  // F with c on its diagonal, as make_error_feedback gives it.
  std::vector<float> factors(uint32_t columns) {
    std::vector<float> out =
        normals(size_t{columns} * columns, 1 / std::sqrt(static_cast<float>(columns)));
    for (uint32_t i = 0; i < columns; ++i)
      out[size_t{i} * columns + i] = 0.1f + std::abs(normal(1));
    return out;
  }

  std::mt19937 dice_{11};
};

struct KShape {
  uint32_t sub_values, before;
  float low, high;
};

TEST_P(SimdFeedback, RunsOfKQuantsEqualTheScalarTwins) {
  const uint32_t columns = GetParam();
  for (const KShape shape : {KShape{32, 0, 0, 15}, {32, 7, 0, 31}, {16, 3, -32, 31}}) {
    const std::vector<float> own = factors(columns);
    std::vector<float> values = normals(columns * kRunRows, 1);
    const size_t subs = (shape.before + columns - 1) / shape.sub_values + 1;
    std::vector<float> scales = normals(subs * kRunRows, 0.1f), minimums(scales.size());
    for (float& each : minimums) each = shape.low < 0 ? 0 : std::abs(normal(1));
    scales[3] = 0;
    values[5] = std::numeric_limits<float>::infinity();
    values[(columns - 1) * kRunRows + 6] = std::numeric_limits<float>::quiet_NaN();
    values[8] = 3e38f;
    std::vector<float> given(values.size());
    for (float& each : given) {
      each = std::clamp(std::nearbyint(normal(10)), shape.low, shape.high);
    }
    const auto rounded = [&](auto* round) {
      std::vector<float> numbers = given;
      round({own.data(), columns, shape.sub_values, shape.before, shape.low, shape.high},
            {values.data(), scales.data(), minimums.data(), numbers.data()});
      return numbers;
    };
    const std::vector<float> wanted = rounded(round_k_run_scalar);
    EXPECT_NE(wanted, given);
    for (const SimdTarget target : simd_targets()) {
      const ForcedSimdTarget forced(target);
      EXPECT_EQ(rounded(round_k_run), wanted) << simd_target_name(target) << " " << shape.high;
    }
  }
}

TEST_P(SimdFeedback, RunsOfNvfp4EqualTheScalarTwins) {
  const uint32_t columns = GetParam() / 16 * 16 + 16;
  constexpr uint64_t kRows = 21;
  const std::vector<float> own = factors(columns);
  std::vector<float> weights = normals(columns, 1), values = normals(kRows * columns, 1);
  for (float& each : weights) each = std::abs(each);
  values[columns + 1] = std::numeric_limits<float>::infinity();
  values[2 * columns + 2] = std::numeric_limits<float>::quiet_NaN();
  std::fill_n(values.begin() + 3 * columns, columns, 0.0f);
  struct FeedbackInput {
    std::vector<float> values;
    std::vector<std::byte> scales;
  };
  const auto fitted = [&](auto* fit) {
    FeedbackInput out{values, std::vector<std::byte>(kRows * columns / 16)};
    fit({out.values.data(), columns, out.scales.data(), columns / 16, kRows},
        {own.data(), weights.data(), columns, 0.002f});
    return out;
  };
  const FeedbackInput wanted = fitted(fit_nvfp4_run_scalar);
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    const FeedbackInput made = fitted(fit_nvfp4_run);
    EXPECT_EQ(made.scales, wanted.scales) << simd_target_name(target);
    EXPECT_EQ(std::memcmp(made.values.data(), wanted.values.data(), values.size() * sizeof(float)),
              0)
        << simd_target_name(target);
  }
}

INSTANTIATE_TEST_SUITE_P(Columns, SimdFeedback,
                         testing::Values(1u, 5u, 8u, 16u, 33u, 64u, 100u, 256u));

}  // namespace
}  // namespace ckpt
