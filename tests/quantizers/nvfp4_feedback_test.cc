// Rounding with error feedback: factors, the kernel against its twin, never worse than plain.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/chunks/error_feedback.h"
#include "core/simd/dispatch.h"
#include "quantizers/nvfp4/checkpoint.h"
#include "quantizers/quantizers.h"
#include "tests/quantizers/parts.h"

namespace ckpt {
namespace {

Tensor moments_tensor(const std::vector<float>& values, uint64_t runs, uint64_t n) {
  const auto bytes = std::as_bytes(std::span(values));
  return make_tensor("x.input_moments", {runs, n, n}, plain_codec(all_codecs(), Dtype::kF32),
                     {bytes.begin(), bytes.end()});
}

// Mean of x x^T for inputs that go up and down together in part.
std::vector<float> made_moments(uint64_t runs, uint64_t n, uint32_t seed) {
  std::mt19937 dice(seed);
  std::normal_distribution<double> normal;
  std::vector<float> out;
  for (uint64_t run = 0; run < runs; ++run) {
    std::vector<double> sums(n * n);
    const uint64_t samples = 3 * n;
    for (uint64_t s = 0; s < samples; ++s) {
      std::vector<double> x(n);
      const double together = normal(dice);
      for (double& each : x) each = normal(dice) + 1.5 * together;
      for (uint64_t i = 0; i < n * n; ++i) sums[i] += x[i / n] * x[i % n];
    }
    for (const double sum : sums)
      out.push_back(static_cast<float>(sum / static_cast<double>(samples)));
  }
  return out;
}

// e^T H e with the damping that the factors have.
double output_error(const std::vector<double>& errors, const float* moments) {
  const size_t n = errors.size();
  double sum = 0, trace = 0;
  for (size_t i = 0; i < n; ++i) trace += moments[i * n + i];
  for (size_t i = 0; i < n * n; ++i) {
    const double damping = i / n == i % n ? 0.05 * trace / static_cast<double>(n) : 0;
    sum += errors[i / n] * (moments[i] + damping) * errors[i % n];
  }
  return sum;
}

TEST(ErrorFeedback, FactorsGiveTheSquareOfTheOutput) {
  constexpr uint64_t kRuns = 2, kColumns = 48;
  const std::vector<float> moments = made_moments(kRuns, kColumns, 1);
  const auto feedback = make_error_feedback(moments_tensor(moments, kRuns, kColumns));
  ASSERT_TRUE(feedback) << feedback.error().text();
  EXPECT_EQ(feedback->run_values, kColumns);
  std::mt19937 dice(2);
  std::normal_distribution<double> normal;
  for (uint64_t run = 0; run < kRuns; ++run) {
    const float* factors = feedback->factors.data() + run * kColumns * kColumns;
    // Values that are all rounded to 0: what is left of each when its turn comes is its error.
    std::vector<double> values(kColumns);
    for (double& value : values) value = normal(dice);
    const double expected = output_error(values, moments.data() + run * kColumns * kColumns);
    double cost = 0;
    for (size_t i = 0; i < kColumns; ++i) {
      cost += factors[i * kColumns + i] * values[i] * values[i];
      for (size_t k = i + 1; k < kColumns; ++k) values[k] -= values[i] * factors[i * kColumns + k];
      EXPECT_EQ(feedback->weights[run * kColumns + i],
                moments[(run * kColumns + i) * kColumns + i]);
    }
    EXPECT_NEAR(cost / expected, 1, 1e-4);
  }
}

TEST(ErrorFeedback, RejectsMatricesThatAreNotSecondMoments) {
  std::vector<float> moments = made_moments(2, 16, 3);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -5.0f, INFINITY}) {
    std::vector<float> broken = moments;
    broken[256 + 17 * 3] = bad;  // on the diagonal of the second run
    const auto feedback = make_error_feedback(moments_tensor(broken, 2, 16));
    ASSERT_FALSE(feedback);
    EXPECT_EQ(feedback.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(feedback.error().text().find("run 1 of 2"), std::string::npos);
  }
  const std::vector<float> zeros(512);
  EXPECT_TRUE(make_error_feedback(moments_tensor(zeros, 2, 16)));
}

TEST(ErrorFeedback, CacheForgetsWhatNobodyUses) {
  const Tensor tensor = moments_tensor(made_moments(1, 16, 4), 1, 16);
  FeedbackCache cache;
  EXPECT_EQ(*cache.get(nullptr), nullptr);
  const auto first = *cache.get(&tensor);
  EXPECT_EQ(*cache.get(&tensor), first);
  EXPECT_EQ(first.use_count(), 1);
}

struct Fitted {
  std::vector<float> values;
  std::vector<std::byte> scales;
};

template <class Function>
Fitted fit(const Function& function, std::vector<float> values, uint64_t rows,
           const ErrorFeedback& feedback, float tensor_scale) {
  const uint64_t columns = feedback.run_values;
  std::vector<std::byte> scales(rows * columns / 16);
  function(RowsOfRun{values.data(), columns, scales.data(), columns / 16, rows},
           FeedbackRun{feedback.factors.data(), feedback.weights.data(), feedback.run_values,
                       tensor_scale});
  return {std::move(values), std::move(scales)};
}

std::vector<float> made_values(uint64_t count, uint32_t seed) {
  std::mt19937 dice(seed);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = normal(dice) * (i % 97 == 0 ? 20.0f : 1.0f);
    if (i / 16 % 11 == 3) out[i] = 0;
    if (i / 16 % 13 == 5) out[i] *= 1e-6f;
  }
  return out;
}

TEST(SimdNvfp4Feedback, EqualsTheScalarTwin) {
  for (const uint64_t columns : {16, 48, 128}) {
    const auto feedback =
        make_error_feedback(moments_tensor(made_moments(1, columns, 5), 1, columns));
    ASSERT_TRUE(feedback);
    for (const uint64_t rows : {1, 4, 15, 16, 37}) {
      std::vector<float> values = made_values(rows * columns, static_cast<uint32_t>(rows));
      if (rows == 37) {
        values[3] = INFINITY;
        values[columns * 9 + 1] = std::numeric_limits<float>::quiet_NaN();
        values[columns * 11] = 3e38f;
      }
      const Fitted expected = fit(fit_nvfp4_run_scalar, values, rows, *feedback, 0.4f / 1536);
      for (const SimdTarget target : simd_targets()) {
        const ForcedSimdTarget forced(target);
        const Fitted found = fit(fit_nvfp4_run, values, rows, *feedback, 0.4f / 1536);
        EXPECT_EQ(found.scales, expected.scales) << simd_target_name(target) << " " << rows;
        EXPECT_EQ(std::memcmp(found.values.data(), expected.values.data(), values.size() * 4), 0)
            << simd_target_name(target) << " " << rows << " x " << columns;
      }
    }
  }
}

// The decoded values, for each row of one run.
std::vector<double> row_errors(const Codec& codec, const std::vector<float>& values,
                               uint64_t columns, const EncodeContext& context,
                               const std::vector<float>& moments) {
  const PartBuffers encoded = encode_with(codec, values, columns, context);
  std::vector<float> decoded(values.size());
  codec.decode(encoded.const_parts(), {decoded, columns});
  std::vector<double> out;
  for (size_t row = 0; row < values.size() / columns; ++row) {
    std::vector<double> errors;
    for (size_t i = row * columns; i < (row + 1) * columns; ++i) {
      errors.push_back(double{values[i]} - double{decoded[i]});
    }
    out.push_back(output_error(errors, moments.data()));
  }
  return out;
}

TEST(SimdNvfp4Feedback, NoRowIsWorseThanPlainAndAllTogetherAreMuchBetter) {
  constexpr uint64_t kColumns = 128, kRows = 64;
  const Codec& codec = *find_codec(all_codecs(), "nvfp4_modelopt");
  const std::vector<float> moments = made_moments(1, kColumns, 6);
  const auto feedback = make_error_feedback(moments_tensor(moments, 1, kColumns));
  ASSERT_TRUE(feedback);
  const std::vector<float> values = made_values(kRows * kColumns, 7);
  EncodeContext context;
  codec.scan({values, kColumns}, context.stats);
  context.stats.amax *= 1.75f;  // so that best without feedback has the scale of plain
  const std::vector<double> plain = row_errors(codec, values, kColumns, context, moments);
  context.stats.amax /= 1.75f;
  context.options.search = ScaleSearch::kBest;
  const std::vector<double> best = row_errors(codec, values, kColumns, context, moments);
  context.feedback = &*feedback;
  const std::vector<double> fed = row_errors(codec, values, kColumns, context, moments);
  double plain_sum = 0, best_sum = 0, fed_sum = 0;
  for (size_t row = 0; row < kRows; ++row) {
    EXPECT_LE(fed[row], plain[row] * 1.0001) << row;
    plain_sum += plain[row];
    best_sum += best[row];
    fed_sum += fed[row];
  }
  EXPECT_LT(fed_sum, 0.7 * best_sum);
  EXPECT_LT(fed_sum, 0.7 * plain_sum);
}

}  // namespace
}  // namespace ckpt
