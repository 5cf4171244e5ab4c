// Codes of K-quants rounded with error feedback: never worse than those they replace by what they
// do to the output, better on the whole, each row for itself, and the same with any vectors.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "core/chunks/error_feedback.h"
#include "core/simd/dispatch.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/quantizers.h"
#include "tests/quantizers/common.h"

namespace ckpt {
namespace {

constexpr uint64_t kFeedbackRows = 19, kFeedbackColumns = 768;  // 16 rows go side by side

void add_products(std::span<const float> x, float share, float* moments) {
  for (const float a : x) {
    for (const float b : x) *moments++ += a * b * share;
  }
}

// Mean of x x^T for inputs that go up and down together in part.
std::vector<float> joint_moments(uint64_t runs, uint64_t n) {
  std::mt19937 dice(7);
  std::normal_distribution<float> normal;
  std::vector<float> out(runs * n * n);
  for (uint64_t run = 0; run < runs; ++run) {
    float* moments = out.data() + run * n * n;
    for (uint64_t sample = 0; sample < 2 * n; ++sample) {
      std::vector<float> x(n);
      const float together = normal(dice);
      for (float& each : x) each = normal(dice) + 1.5f * together;
      add_products(x, 1 / static_cast<float>(2 * n), moments);
    }
  }
  return out;
}

// The error of a run of a row, as the output sees it, with the damping of the factors.
double output_error_of(const std::vector<double>& errors, const float* moments) {
  const size_t n = errors.size();
  double sum = 0, trace = 0;
  for (size_t i = 0; i < n; ++i) trace += double{moments[i * n + i]};
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      const double damping = i == j ? 0.05 * trace / static_cast<double>(n) : 0;
      sum += errors[i] * (double{moments[i * n + j]} + damping) * errors[j];
    }
  }
  return sum;
}

// Ordinary rows, one with an outlier, one of zeros, one so small that scales are 0.
std::vector<float> rows_of_all_kinds() {
  std::mt19937 dice(3);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> out(kFeedbackRows * kFeedbackColumns);
  for (float& each : out) each = normal(dice);
  out[2 * kFeedbackColumns + 100] = 3;
  std::fill_n(out.begin() + 5 * kFeedbackColumns, kFeedbackColumns, 0.0f);
  for (uint64_t i = 0; i < kFeedbackColumns; ++i) out[9 * kFeedbackColumns + i] *= 1e-7f;
  return out;
}

Bytes encode_rows(const Codec& codec, std::span<const float> values, const ErrorFeedback& feedback,
                  bool with_feedback) {
  EncodeContext context;
  context.options.search = ScaleSearch::kBest;
  context.column_weights = feedback.weights;
  context.feedback = with_feedback ? &feedback : nullptr;
  Bytes out(values.size() / 256 * size_bytes(codec.parts[0].dtype));
  const std::span<std::byte> part = out;
  codec.encode({values, kFeedbackColumns}, context, std::span(&part, 1));
  return out;
}

std::vector<float> decoded(const Codec& codec, const Bytes& bytes) {
  std::vector<float> out(kFeedbackRows * kFeedbackColumns);
  const std::span<const std::byte> part = bytes;
  codec.decode(std::span(&part, 1), {out, kFeedbackColumns});
  return out;
}

Result<ErrorFeedback> feedback_of(const std::vector<float>& moments, uint64_t runs, uint64_t n) {
  const auto bytes = std::as_bytes(std::span(moments));
  return make_error_feedback(make_tensor("x.input_moments", {runs, n, n},
                                         plain_codec(all_codecs(), Dtype::kF32),
                                         {bytes.begin(), bytes.end()}));
}

class KFeedback : public testing::TestWithParam<std::pair<const char*, uint64_t>> {};

TEST_P(KFeedback, CostsNoMoreInAnyRunAndLessInAll) {
  const auto [name, n] = GetParam();
  const Codec& codec = codec_named(name);
  const uint64_t runs = kFeedbackColumns / n;
  const std::vector<float> moments = joint_moments(runs, n);
  const auto feedback = feedback_of(moments, runs, n);
  ASSERT_TRUE(feedback.has_value()) << feedback.error().text();
  const std::vector<float> values = rows_of_all_kinds();
  const Bytes plain = encode_rows(codec, values, *feedback, false);
  const Bytes fitted = encode_rows(codec, values, *feedback, true);
  const std::vector<float> before = decoded(codec, plain), after = decoded(codec, fitted);
  double all_before = 0, all_after = 0;
  for (uint64_t at = 0; at < values.size(); at += n) {
    std::vector<double> old_errors, new_errors;
    for (uint64_t i = at; i < at + n; ++i) {
      old_errors.push_back(double{values[i]} - double{before[i]});
      new_errors.push_back(double{values[i]} - double{after[i]});
    }
    const float* own = moments.data() + at % kFeedbackColumns * n;
    const double old_cost = output_error_of(old_errors, own);
    const double new_cost = output_error_of(new_errors, own);
    EXPECT_LE(new_cost, old_cost * 1.001) << at;
    all_before += old_cost;
    all_after += new_cost;
  }
  // Two bits leave corrections little room.
  EXPECT_LT(all_after, all_before * (std::string_view(name) == "q2_k" ? 1 : 0.9));
  const size_t row_bytes = plain.size() / kFeedbackRows;
  for (uint64_t row = 0; row < kFeedbackRows; ++row) {
    const auto one =
        encode_rows(codec, std::span(values).subspan(row * kFeedbackColumns, kFeedbackColumns),
                    *feedback, true);
    EXPECT_TRUE(std::equal(one.begin(), one.end(),
                           fitted.begin() + static_cast<std::ptrdiff_t>(row * row_bytes)))
        << row;
  }
}

TEST_P(KFeedback, SimdGivesTheScalarBytesOnEverySet) {
  const auto [name, n] = GetParam();
  const Codec& codec = codec_named(name);
  const auto feedback =
      feedback_of(joint_moments(kFeedbackColumns / n, n), kFeedbackColumns / n, n);
  std::vector<float> values = rows_of_all_kinds();
  values[3 * kFeedbackColumns + 5] = std::numeric_limits<float>::infinity();
  values[7 * kFeedbackColumns + 300] = std::numeric_limits<float>::quiet_NaN();
  values[17 * kFeedbackColumns + 40] = 3e38f;
  const auto encoded_by = [&](SimdTarget target) {
    const ForcedSimdTarget forced(target);
    return encode_rows(codec, values, *feedback, true);
  };
  const Bytes wanted = encoded_by(SimdTarget::kScalar);
  for (const SimdTarget target : simd_targets()) {
    EXPECT_EQ(encoded_by(target), wanted) << simd_target_name(target);
  }
}

// Runs within a sub-block, across sub-blocks, of a block and longer than one.
INSTANTIATE_TEST_SUITE_P(All, KFeedback,
                         testing::Values(std::pair("q2_k", 128), std::pair("q2_k", 24),
                                         std::pair("q3_k", 96), std::pair("q3_k", 256),
                                         std::pair("q4_k", 3), std::pair("q4_k", 16),
                                         std::pair("q4_k", 48), std::pair("q4_k", 384),
                                         std::pair("q5_k", 128), std::pair("q5_k", 768),
                                         std::pair("q6_k", 16), std::pair("q6_k", 96),
                                         std::pair("q6_k", 256)));

}  // namespace
}  // namespace ckpt
