// Types for a size: the knapsack against all combinations, floors, and what is measured.
#include "plan/size_target/size_target.h"

#include <cmath>
#include <random>

#include "plan/size_target/choice.h"
#include "plan/size_target/measured_file.h"
#include "plan/size_target/sensitivity.h"
#include "quantizers/quantizers.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

// The least cost of all combinations, by a table of what each size can reach; infinite where none
// fits.
double least_cost(const std::vector<KnapsackItem>& items, uint64_t limit) {
  std::vector<double> best(limit + 1);
  for (const KnapsackItem& item : items) {
    std::vector<double> with(limit + 1, INFINITY);
    for (const KnapsackChoice& choice : item) {
      for (uint64_t size = choice.size; size <= limit; ++size) {
        with[size] = std::min(with[size], best[size - choice.size] + choice.cost);
      }
    }
    best = std::move(with);
  }
  return best[limit];
}

std::vector<KnapsackItem> random_items(std::mt19937_64& random) {
  std::vector<KnapsackItem> items(1 + random() % 14);
  for (KnapsackItem& item : items) {
    for (uint64_t k = 0; k < 1 + random() % 5; ++k) {
      item.push_back({1 + random() % 100, static_cast<double>(random() % 1000)});
    }
  }
  return items;
}

TEST(Knapsack, FindsTheLeastCostOfAllCombinations) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<KnapsackItem> items = random_items(random);
    const uint64_t limit = random() % (100 * items.size());
    const double expected = least_cost(items, limit);
    const auto answer = solve_knapsack(items, limit);
    ASSERT_EQ(answer.has_value(), std::isfinite(expected)) << round;
    if (!answer) continue;
    EXPECT_EQ(answer->cost, expected) << round;
    EXPECT_LE(answer->size, limit);
    EXPECT_TRUE(answer->is_exact);
  }
}

TEST(Knapsack, OneByteLessIsNotEnough) {
  const std::vector<KnapsackItem> items = {{{10, 5}, {20, 1}}, {{10, 5}, {20, 2}}};
  EXPECT_EQ(solve_knapsack(items, 40)->size, 40u);
  EXPECT_EQ(solve_knapsack(items, 39)->chosen, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(solve_knapsack(items, 20)->size, 20u);
  EXPECT_FALSE(solve_knapsack(items, 19));
}

TEST(Knapsack, TakesThousandsOfItemsAndFillsTheSize) {
  std::mt19937_64 random(11);
  std::vector<KnapsackItem> items(3000);
  uint64_t limit = 0;
  for (KnapsackItem& item : items) {
    const uint64_t weights = (1 + random() % 8) << 20;
    const double scale = 1 + static_cast<double>(random() % 100);
    for (const double bits : {2.625, 3.4375, 4.25, 4.5, 5.5, 6.5625, 8.5, 16.0}) {
      item.push_back({static_cast<uint64_t>(static_cast<double>(weights) * bits / 8),
                      scale * std::pow(4, -bits)});
    }
    limit += item[3].size;
  }
  const auto answer = solve_knapsack(items, limit);
  ASSERT_TRUE(answer);
  EXPECT_LE(answer->size, limit);
  EXPECT_GT(static_cast<double>(answer->size), 0.9999 * static_cast<double>(limit));
}

const Codec* codec_for(Dtype type) { return &plain_codec(all_codecs(), type); }

FreeTensor offered_tensor(std::string name, double least_bits = 0) {
  // Offers 4, 8 and 16 bits; the error of 4 bits is a quarter of the signal (6 dB).
  return {std::move(name),
          800,
          1,
          least_bits,
          {{codec_for(Dtype::kQ4_0), 400, 0.25},
           {codec_for(Dtype::kQ8_0), 800, 0.01},
           {codec_for(Dtype::kBF16), 1600, 0}}};
}

TEST(TypeChoice, TypesBelowNineDecibelsOnlyWhereNothingElseFits) {
  const auto above = choose_types({offered_tensor("a"), offered_tensor("b")}, 1999);
  ASSERT_TRUE(above);
  EXPECT_EQ(above->offers, (std::vector<uint32_t>{1, 1}));
  EXPECT_TRUE(above->keeps_floors);
  const auto below = choose_types({offered_tensor("a"), offered_tensor("b")}, 1599);
  ASSERT_TRUE(below);
  EXPECT_FALSE(below->keeps_floors);
  EXPECT_LE(below->size_bytes, 1599u);
  EXPECT_FALSE(choose_types({offered_tensor("a"), offered_tensor("b")}, 799));
}

TEST(TypeChoice, LeastBitsOfATensorAreKept) {
  const auto chosen = choose_types({offered_tensor("a"), offered_tensor("b", 16)}, 2400);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->offers, (std::vector<uint32_t>{1, 2}));
}

TEST(TypeChoice, FloorsAreOfTheOutputOfSmallTensorsAndOfWhatEveryTokenPasses) {
  const FreeTensor shared = {"blk.0.attn_q.weight", 1000, 1, 0, {}};
  const FreeTensor experts = {"blk.0.ffn_up_exps.weight", 1000, 1, 0, {}};
  EXPECT_EQ(least_bits(shared, 10'000, false, false), 0);
  EXPECT_EQ(least_bits(shared, 10'000, true, false), 4.25);
  EXPECT_EQ(least_bits(experts, 10'000, true, false), 0);
  EXPECT_EQ(least_bits(shared, 10'000'000, false, false), 5.5);
  EXPECT_EQ(least_bits(shared, 10'000, false, true), 4.25);
}

TEST(TypeChoice, CostOfAMixtureThatUsesATypeNobodyMeasuredIsNotKnown) {
  EXPECT_EQ(cost_of({offered_tensor("a")}, {codec_for(Dtype::kQ8_0)}), 0.01);
  EXPECT_FALSE(cost_of({offered_tensor("a")}, {codec_for(Dtype::kQ6K)}));
}

TEST(Sensitivity, RolesAreNamesWithoutLayers) {
  EXPECT_EQ(role_of("blk.12.ffn_down_exps.weight"), "ffn_down_exps");
  EXPECT_EQ(role_of("output.weight"), "output");
  EXPECT_EQ(sensitivity_of("token_embd.weight", true), sensitivity_of("output.weight", true));
  EXPECT_GT(sensitivity_of("blk.3.new_role.weight", false), 0);
}

std::vector<TypesToMeasure> some_tensors() {
  std::vector<TypesToMeasure> out;
  std::mt19937_64 random(3);
  for (int i = 0; i < 5; ++i) {
    std::vector<float> values(256 * 8);
    for (float& value : values) value = static_cast<float>(random() % 2001) / 1000 - 1;
    TypesToMeasure& one = out.emplace_back();
    one.values = make_f32_tensor("t", {8, 256}, values, all_codecs());
    one.codecs = {codec_for(Dtype::kQ4K), codec_for(Dtype::kQ8_0), codec_for(Dtype::kF32)};
  }
  return out;
}

TEST(MeasuredTypes, AreTheSameWithAnyNumberOfThreads) {
  const auto one = measure_types(some_tensors(), {1});
  const auto four = measure_types(some_tensors(), {4});
  ASSERT_TRUE(one && four);
  EXPECT_EQ(*one, *four);
  EXPECT_GT((*one)[0][0], (*one)[0][1]);
  EXPECT_GT((*one)[0][1], 0);
  EXPECT_EQ((*one)[0][2], 0);
}

TEST(MeasuredTypes, ErrorsOfColumnsWithoutWeightDoNotCount) {
  std::vector<TypesToMeasure> tensors = some_tensors();
  auto weights = std::make_shared<ColumnWeights>();
  weights->weights.assign(256, 0);
  tensors[0].weights = weights;
  const auto errors = measure_types(tensors, {});
  ASSERT_TRUE(errors);
  EXPECT_EQ((*errors)[0][0], 0);
  EXPECT_GT((*errors)[1][0], 0);
}

TEST(SizeTarget, OptionsThatSayTypesAreRefusedBesideIt) {
  Conversion conversion;
  conversion.out = "x.gguf";
  EXPECT_FALSE(read_size_target(conversion)->has_value());
  conversion.target_size = "1 GB";
  EXPECT_EQ(read_size_target(conversion)->value().size_bytes, 1'000'000'000u);
  const auto refused = [](Conversion other) { return read_size_target(other).error().code; };
  Conversion other = conversion;
  other.target_bits = "4";
  EXPECT_EQ(refused(other), ErrorCode::kUsage);
  other = conversion;
  other.to = "q4_k_m";
  EXPECT_EQ(refused(other), ErrorCode::kUsage);
  other = conversion;
  other.flags.add("pure", "yes");
  EXPECT_EQ(refused(other), ErrorCode::kUsage);
  other = conversion;
  other.also.push_back({"y.gguf", "q8_0"});
  EXPECT_EQ(refused(other), ErrorCode::kUsage);
  other = conversion;
  other.out = "folder";
  EXPECT_TRUE(read_size_target(other));
  other.to = "nvfp4-w4a16";
  EXPECT_TRUE(read_size_target(other));
  other.to = "fp8";
  EXPECT_EQ(refused(other), ErrorCode::kUsage);
  for (const char* size : {"0", "-1", "x", "nan", "1 2", "1e300"}) {
    other = conversion;
    other.target_size = size;
    EXPECT_EQ(refused(other), ErrorCode::kUsage) << size;
  }
  for (const char* bits : {"0", "-1", "33", "4 bits", "nan", "inf"}) {
    other = conversion;
    other.target_size.clear();
    other.target_bits = bits;
    EXPECT_EQ(refused(other), ErrorCode::kUsage) << bits;
  }
}

}  // namespace
}  // namespace ckpt
