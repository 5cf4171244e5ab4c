// How far values are apart: against sums made here, whatever the codecs, threads and memory.
#include "core/engine/value_compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/engine/value_chunks.h"
#include "quantizers/quantizers.h"
#include "tests/support/weight_sets.h"

namespace ckpt {
namespace {

const Codec& compared_codec(std::string_view name) { return *find_codec(all_codecs(), name); }

std::vector<float> random_values(size_t count, uint64_t seed) {
  Dice dice(seed);
  std::vector<float> out(count);
  for (float& value : out) value = dice.normal();
  return out;
}

Tensor of_floats(const std::vector<float>& values, std::vector<uint64_t> shape) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return make_tensor("t", std::move(shape), compared_codec("f32"), std::move(bytes));
}

// Encodes the values with the codec `name`; tensor scales come from the values.
Tensor encoded(std::string_view name, std::vector<float> values, std::vector<uint64_t> shape) {
  const Codec& to = compared_codec(name);
  Tensor out;
  out.name = "t";
  out.shape = std::move(shape);
  out.codec = &to;
  EncodeContext context;
  const FloatRows rows{values, out.row_values()};
  if (to.needs_stats) to.scan({rows.values, rows.row_values}, context.stats);
  std::vector<std::vector<std::byte>> parts;
  std::vector<std::span<std::byte>> spans;
  for (size_t i = 0; i < to.parts.size(); ++i) parts.emplace_back(part_size_bytes(out, i));
  for (auto& part : parts) spans.emplace_back(part);
  to.encode({rows.values, rows.row_values}, context, spans);
  Stored stored;
  for (auto& part : parts) {
    const uint64_t size = part.size();
    stored.parts.push_back({Slice{make_blob("part", std::move(part)), 0, size}});
  }
  out.origin = std::move(stored);
  return out;
}

std::vector<float> decoded(const Tensor& tensor) { return *read_values(tensor, 1 << 24); }

ValueDifference compare(const Tensor& a, const Tensor& b, CompareOptions options = {}) {
  const ValuePair pair{&a, &b};
  auto out = compare_values(std::span(&pair, 1), compared_codec("f32"), options);
  EXPECT_TRUE(out) << out.error().text();
  return out->at(0);
}

struct ExpectedSums {
  double a = 0, b = 0, products = 0, errors = 0, max = 0;
};
ExpectedSums expect_sums(const std::vector<float>& a, const std::vector<float>& b) {
  long double sums[4] = {};
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const long double x = a[i], y = b[i];
    sums[0] += x * x;
    sums[1] += y * y;
    sums[2] += x * y;
    sums[3] += (x - y) * (x - y);
    largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return {static_cast<double>(sums[0]), static_cast<double>(sums[1]), static_cast<double>(sums[2]),
          static_cast<double>(sums[3]), largest};
}

class ValueCompareOf : public testing::TestWithParam<const char*> {};

TEST_P(ValueCompareOf, SumsAreThoseOfTheDecodedValues) {
  const std::vector<float> values = random_values(size_t{384} * 1024, 3);
  const Tensor a = of_floats(values, {384, 1024});
  const Tensor b = encoded(GetParam(), values, {384, 1024});
  const ExpectedSums expected = expect_sums(values, decoded(b));
  const ValueDifference found = compare(a, b);
  EXPECT_EQ(found.values, values.size());
  EXPECT_NEAR(found.sides[0].sum_squares / expected.a, 1, 1e-12);
  EXPECT_NEAR(found.sides[1].sum_squares / expected.b, 1, 1e-12);
  EXPECT_NEAR(found.sum_products / expected.products, 1, 1e-12);
  ASSERT_GT(expected.errors, 0);
  EXPECT_NEAR(found.sum_squared_errors / expected.errors, 1, 1e-12);
  EXPECT_EQ(found.max_error, expected.max);
  EXPECT_NEAR(found.rmse(), std::sqrt(expected.errors / 393216), 1e-12);
  EXPECT_NEAR(found.sqnr_db(), 10 * std::log10(expected.a / expected.errors), 1e-9);
  EXPECT_NEAR(found.cosine(), expected.products / std::sqrt(expected.a * expected.b), 1e-12);
  EXPECT_NEAR(found.relative(), std::sqrt(expected.errors / expected.a), 1e-12);
}

TEST_P(ValueCompareOf, ThreadsAndMemoryChangeNoDigit) {
  const Tensor a = of_floats(random_values(size_t{700} * 1024, 4), {700, 1024});
  const Tensor b = encoded(GetParam(), random_values(size_t{700} * 1024, 5), {700, 1024});
  const ValueDifference one = compare(a, b, {.threads = 1});
  const ValueDifference many = compare(a, b, {.threads = 7});
  const ValueDifference little = compare(a, b, {.threads = 7, .memory_bytes = 1});
  for (const ValueDifference* other : {&many, &little}) {
    EXPECT_EQ(one.sum_squared_errors, other->sum_squared_errors);
    EXPECT_EQ(one.sum_products, other->sum_products);
    EXPECT_EQ(one.sides[0].sum_squares, other->sides[0].sum_squares);
    EXPECT_EQ(one.sides[1].extreme, other->sides[1].extreme);
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, ValueCompareOf,
                         testing::Values("bf16", "f16", "q8_0", "q4_0", "q5_1", "q4_k", "q6_k",
                                         "nvfp4_modelopt", "nvfp4_ct", "fp8_tensor", "fp8_channel",
                                         "fp8_block", "mxfp8", "mxfp4_ct", "nvfp4", "iq4_xs"));

TEST(ValueCompare, EqualValuesHaveNoDifference) {
  const Tensor a = of_floats(random_values(5000, 1), {5, 1000});
  const ValueDifference found = compare(a, a);
  EXPECT_EQ(found.rmse(), 0);
  EXPECT_EQ(found.relative(), 0);
  EXPECT_EQ(found.sqnr_db(), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(found.cosine(), 1, 1e-15);
  EXPECT_EQ(found.sides[0].codes, 0u);
  EXPECT_EQ(found.sides[0].saturated(), std::nullopt);
}

TEST(ValueCompare, NonFiniteValuesAreCountedAndInNoSum) {
  std::vector<float> left(1000, 1.0f), right(1000, 1.5f);
  left[3] = std::numeric_limits<float>::quiet_NaN();
  left[900] = right[900] = std::numeric_limits<float>::infinity();
  right[999] = -std::numeric_limits<float>::infinity();
  const ValueDifference found = compare(of_floats(left, {1000}), of_floats(right, {1000}));
  EXPECT_EQ(found.values, 997u);
  EXPECT_EQ(found.sides[0].nonfinite, 2u);
  EXPECT_EQ(found.sides[1].nonfinite, 2u);
  EXPECT_EQ(found.nonfinite_apart, 2u);
  EXPECT_EQ(found.sum_squared_errors, 997 * 0.25);
  EXPECT_EQ(found.max_error, 0.5);
}

TEST(ValueCompare, ExtremeCodesAreCounted) {
  // One block: 6 is the largest number of E2M1, 448 that of E4M3; the scale becomes 1.
  std::vector<float> values(16, 0.5f);
  values[2] = 6;
  values[9] = -6;
  const ValueDifference fp4 =
      compare(of_floats(values, {16}), encoded("nvfp4_modelopt", values, {16}));
  EXPECT_EQ(fp4.sides[1].codes, 16u);
  EXPECT_EQ(fp4.sides[1].extreme, 2u);
  EXPECT_EQ(fp4.sides[1].saturated(), 2.0 / 16);
  std::vector<float> wide(32, 1.0f);
  wide[0] = 448;
  wide[31] = -448;
  EXPECT_EQ(compare(of_floats(wide, {32}), encoded("fp8_tensor", wide, {32})).sides[1].extreme, 2u);
  std::vector<float> ramp(32);
  for (size_t i = 0; i < 32; ++i) ramp[i] = static_cast<float>(i) - 16;
  EXPECT_EQ(compare(of_floats(ramp, {32}), encoded("q5_0", ramp, {32})).sides[1].extreme, 2u);
  EXPECT_EQ(compare(of_floats(ramp, {32}), encoded("q5_1", ramp, {32})).sides[1].extreme, 2u);
  EXPECT_EQ(compare(of_floats(ramp, {32}), encoded("q8_0", ramp, {32})).sides[1].extreme, 1u);
}

// Every value of a block of two codes that are the ends has such a code, in whatever bits it lies.
class ExtremeCodesOf : public testing::TestWithParam<const char*> {};
TEST_P(ExtremeCodesOf, TwoLevelsAreTheEnds) {
  std::vector<float> values(512);
  Dice dice(9);
  for (float& value : values) value = dice.below(2) == 0 ? 0.0f : 1.0f;
  values[0] = 0;
  values[1] = 1;
  const ValueDifference found =
      compare(of_floats(values, {2, 256}), encoded(GetParam(), values, {2, 256}));
  EXPECT_EQ(found.sides[1].codes, 512u);
  EXPECT_EQ(found.sides[1].extreme, 512u);
}
INSTANTIATE_TEST_SUITE_P(Affine, ExtremeCodesOf,
                         testing::Values("q4_1", "q5_1", "q2_k", "q4_k", "q5_k"));

TEST(ValueCompare, BlocksThatBecameZeroAreCounted) {
  std::vector<float> values(64, 1.0f), zeroed = values;
  std::fill(zeroed.begin() + 16, zeroed.begin() + 32, 0.0f);
  std::fill(values.begin() + 32, values.begin() + 48, 0.0f);
  std::fill(zeroed.begin() + 32, zeroed.begin() + 48, 0.0f);
  const ValueDifference found =
      compare(of_floats(values, {64}), encoded("nvfp4_modelopt", zeroed, {64}));
  EXPECT_EQ(found.sides[1].blocks, 4u);
  EXPECT_EQ(found.sides[1].flushed_blocks, 1u);
  EXPECT_EQ(found.sides[0].blocks, 0u);
}

TEST(ValueCompare, OperationsCount) {
  const std::vector<float> values = random_values(2048, 6);
  auto factors = std::make_shared<std::vector<float>>(64);
  for (size_t i = 0; i < 64; ++i) (*factors)[i] = static_cast<float>(i + 1);
  std::vector<float> scaled = values;
  for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= (*factors)[i % 64];
  Tensor a = *with_op(of_floats(values, {32, 64}), ScaleColumns{factors});
  EXPECT_EQ(compare(a, of_floats(scaled, {32, 64})).max_error, 0);
}

TEST(ValueCompare, EmptyTensorsAreEqual) {
  const Tensor a = of_floats({}, {0, 64});
  EXPECT_EQ(compare(a, a).values, 0u);
  EXPECT_EQ(compare(a, a).rmse(), 0);
}

TEST(ValueCompare, TypesThatAreOnlyCopiedAreRefused) {
  const Tensor a = make_tensor("ids", {4}, compared_codec("u8"), std::vector<std::byte>(4));
  const ValuePair pair{&a, &a};
  const auto found = compare_values(std::span(&pair, 1), compared_codec("f32"), {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
}

TEST(ValueCompare, KurtosisIsThatOfA) {
  const std::vector<float> a = {1, -1, 2, -2}, b = {0, 0, 0, 0};
  const ValueDifference difference = compare(of_floats(a, {4}), of_floats(b, {4}));
  EXPECT_DOUBLE_EQ(difference.kurtosis(), 4 * (1 + 1 + 16 + 16) / (10.0 * 10));
  EXPECT_EQ(compare(of_floats(b, {4}), of_floats(a, {4})).kurtosis(), 0);
}

TEST(ValueCompare, CountsValuesThatBecameZero) {
  const std::vector<float> a = {0, 1, 2, -3, 0.5F}, b = {0, 0, 2, -0.0F, 1};
  const ValueDifference difference = compare(of_floats(a, {5}), of_floats(b, {5}));
  EXPECT_EQ(difference.zeroed, 2U);
  EXPECT_EQ(difference.max_value, 3);
  EXPECT_EQ(compare(of_floats(b, {5}), of_floats(a, {5})).zeroed, 0U);
}

TEST(ValueHistogram, EveryValueIsInABin) {
  const std::vector<float> a = random_values(100'000, 3), b = random_values(100'000, 4);
  const Tensor left = of_floats(a, {100, 1000}), right = of_floats(b, {100, 1000});
  const ValueDifference difference = compare(left, right);
  const ValuePair pair{&left, &right};
  const HistogramLimits limits{difference.max_value, difference.max_error};
  for (const unsigned threads : {1U, 4U}) {
    CompareOptions options;
    options.threads = threads;
    const auto found = value_histograms(std::span(&pair, 1), std::span(&limits, 1),
                                        compared_codec("f32"), options);
    ASSERT_TRUE(found);
    const ValueHistograms& bins = found->front();
    for (const HistogramBins* counts : {&bins.a, &bins.b, &bins.errors}) {
      EXPECT_EQ(std::accumulate(counts->begin(), counts->end(), uint64_t{0}), a.size());
    }
    const auto below = static_cast<uint64_t>(
        std::count_if(a.begin(), a.end(), [](float value) { return value < 0; }));
    EXPECT_EQ(std::accumulate(bins.a.begin(), bins.a.begin() + kHistogramBins / 2, uint64_t{0}),
              below);
  }
}

TEST(ValueHistogram, AcceptsZerosAndNonFiniteValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> zeros = {0, 0, 0}, odd = {0, inf, std::nanf("")};
  const Tensor left = of_floats(zeros, {3}), right = of_floats(odd, {3});
  const ValuePair pair{&left, &right};
  const HistogramLimits limits{0, 0};
  const auto found =
      value_histograms(std::span(&pair, 1), std::span(&limits, 1), compared_codec("f32"), {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().a[kHistogramBins / 2], 1U);
  EXPECT_EQ(
      std::accumulate(found->front().errors.begin(), found->front().errors.end(), uint64_t{0}), 1U);
}

}  // namespace
}  // namespace ckpt
