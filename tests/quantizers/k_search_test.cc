// The search for blocks of Q4_K, Q5_K and Q6_K: never a larger error than ggml, a smaller one
// on weights, and gives the same bytes on every target and for any neighboring blocks.
#include "quantizers/ggml/k/k_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/quantizers.h"
#include "tests/quantizers/common.h"
#include "tests/support/weight_sets.h"

namespace ckpt {
namespace {

constexpr size_t kKBlock = 256, kBlocks = 33;  // odd, so that one block has no neighbor

Bytes encode(const Codec& codec, const std::vector<float>& values,
             const std::vector<float>& weights, ScaleSearch search) {
  EncodeContext context;
  context.column_weights = weights;
  context.options.search = search;
  const uint64_t row_values = weights.empty() ? values.size() : weights.size();
  Bytes out(values.size() / kKBlock * size_bytes(codec.parts[0].dtype));
  const std::span<std::byte> part = out;
  codec.encode({values, row_values}, context, std::span(&part, 1));
  return out;
}

// The error of each block, in double.
std::vector<double> errors(const Codec& codec, const Bytes& bytes, const std::vector<float>& values,
                           const std::vector<float>& weights) {
  std::vector<float> stored(values.size());
  const std::span<const std::byte> part = bytes;
  codec.decode(std::span(&part, 1), {stored, stored.size()});
  std::vector<double> out(values.size() / kKBlock);
  for (size_t i = 0; i < values.size(); ++i) {
    const double weight = weights.empty() ? 1.0 : double{weights[i % weights.size()]};
    const double error = double{values[i]} - double{stored[i]};
    out[i / kKBlock] += weight * error * error;
  }
  return out;
}

struct Case {
  std::string name;
  bool weighted;
};

class KSearch : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    codec_ = &codec_named(GetParam().name);
    if (!GetParam().weighted) return;
    Dice dice(5);
    weights_.resize(3 * kKBlock);  // rows of three blocks; some columns do not count
    for (float& weight : weights_) {
      weight = dice.below(20) == 0 ? 0 : 0.01f + 10 * dice.uniform() * dice.uniform();
    }
  }

  static std::vector<float> values_of(const WeightSet& set, uint64_t seed) {
    std::vector<float> values(kBlocks * kKBlock);
    Dice dice(seed);
    set.fill(values, dice);
    return values;
  }

  Bytes plain(const std::vector<float>& values) const {
    return encode(*codec_, values, weights_, ScaleSearch::kNone);
  }
  Bytes searched(const std::vector<float>& values) const {
    return encode(*codec_, values, weights_, ScaleSearch::kBest);
  }

  const Codec* codec_ = nullptr;
  std::vector<float> weights_;
};

TEST_P(KSearch, ErrsNoMoreThanGgmlInAnyBlock) {
  for (const WeightSet& set : weight_sets()) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const std::vector<float> values = values_of(set, seed);
      const auto before = errors(*codec_, plain(values), values, weights_);
      const auto after = errors(*codec_, searched(values), values, weights_);
      for (size_t b = 0; b < kBlocks; ++b) {
        if (!std::isfinite(before[b])) continue;
        // The searches sum in float, and choose the other of two codes that are equally near.
        EXPECT_LE(after[b], before[b] * (1 + 1e-5))
            << set.name << " seed " << seed << " block " << b;
      }
    }
  }
}

TEST_P(KSearch, ErrsLessOnTrainedWeights) {
  const auto sets = weight_sets();
  const auto set = std::find_if(sets.begin(), sets.end(),
                                [](const WeightSet& each) { return each.name == "trained"; });
  ASSERT_NE(set, sets.end());
  double before = 0, after = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const std::vector<float> values = values_of(*set, seed);
    for (const double each : errors(*codec_, plain(values), values, weights_)) before += each;
    for (const double each : errors(*codec_, searched(values), values, weights_)) after += each;
  }
  EXPECT_LT(after, before * 0.97);
  RecordProperty("ratio", std::to_string(after / before));
}

TEST_P(KSearch, EveryTargetGivesTheSameBytes) {
  for (const WeightSet& set : weight_sets()) {
    const std::vector<float> values = values_of(set, 9);
    Bytes expected;
    for (const SimdTarget target : simd_targets()) {
      const ForcedSimdTarget forced(target);
      const Bytes found = searched(values);
      if (expected.empty()) expected = found;  // scalar
      EXPECT_EQ(found, expected) << set.name << " " << simd_target_name(target);
    }
  }
}

TEST_P(KSearch, BlocksDoNotDependOnTheirNeighbors) {
  if (GetParam().weighted) return;  // a block's weights are those of its place
  for (const WeightSet& set : weight_sets()) {
    const std::vector<float> values = values_of(set, 3);
    const Bytes all = searched(values);
    const size_t block_bytes = all.size() / kBlocks;
    for (size_t b = 0; b < kBlocks; ++b) {
      const std::vector<float> one(values.begin() + static_cast<long>(b * kKBlock),
                                   values.begin() + static_cast<long>((b + 1) * kKBlock));
      const Bytes alone = searched(one);
      EXPECT_EQ(std::memcmp(alone.data(), all.data() + b * block_bytes, block_bytes), 0)
          << set.name << " block " << b;
    }
  }
}

TEST_P(KSearch, ScalesStayFinite) {
  for (const WeightSet& set : weight_sets()) {
    const std::vector<float> values = values_of(set, 11);
    const Bytes before = plain(values), after = searched(values);
    const size_t block_bytes = after.size() / kBlocks;
    for (size_t b = 0; b < kBlocks; ++b) {
      const auto overflows = [&](const Bytes& bytes) {
        const auto block = std::span<const std::byte>(bytes).subspan(b * block_bytes, block_bytes);
        return codec_->first_overflow(std::span(&block, 1), 1, kKBlock) == 0;
      };
      EXPECT_EQ(overflows(after), overflows(before)) << set.name << " block " << b;
    }
  }
}

TEST_P(KSearch, OtherSearchesLeaveGgmlsBytes) {
  const std::vector<float> values = values_of(weight_sets()[0], 2);
  EXPECT_EQ(encode(*codec_, values, weights_, ScaleSearch::kSweep), plain(values));
  EXPECT_EQ(encode(*codec_, values, weights_, ScaleSearch::kFourOverSix), plain(values));
}

// A block that ggml stores without error stays as it is.
TEST_P(KSearch, ExactBlocksStay) {
  const std::vector<float> zeros(kBlocks * kKBlock);
  EXPECT_EQ(searched(zeros), plain(zeros));
}

INSTANTIATE_TEST_SUITE_P(Types, KSearch,
                         testing::Values(Case{"q4_k", false}, Case{"q5_k", false},
                                         Case{"q6_k", false}, Case{"q4_k", true},
                                         Case{"q5_k", true}, Case{"q6_k", true}),
                         [](const auto& each) {
                           return each.param.name + (each.param.weighted ? "_weighted" : "");
                         });

// Definition of the kernels: sums in the order of the values, to the last bit.
TEST(KSearchKernels, EqualTheirTwins) {
  SearchGroup group{32, 0, 15, {}, {}};
  Dice dice(4);
  for (float& value : group.values) value = dice.normal();
  for (float& weight : group.weights) weight = dice.uniform();
  std::vector<SearchFit> fits(7);
  for (SearchFit& fit : fits) {
    for (size_t j = 0; j < kSearchSubs; ++j) {
      fit.scales[j] = j == 3 ? 0 : 0.1f + dice.uniform();
      fit.minimums[j] = dice.uniform() * 3;
    }
  }
  std::vector<SearchErrors> expected(fits.size()), found(fits.size());
  find_search_errors_scalar(group, fits, expected.data());
  SearchSums expected_sums, sums;
  find_search_sums_scalar(group, fits[1], expected_sums);
  EXPECT_GT(expected[0].errors[0], 0);
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    find_search_errors(group, fits, found.data());
    find_search_sums(group, fits[1], sums);
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), fits.size() * sizeof(SearchErrors)), 0);
    EXPECT_EQ(std::memcmp(&sums, &expected_sums, sizeof sums), 0) << simd_target_name(target);
  }
}

}  // namespace
}  // namespace ckpt
