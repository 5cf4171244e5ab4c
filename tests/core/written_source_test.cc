// A tensor that is still to be encoded, read as the bytes that it will be written with.
#include "core/chunks/written_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/chunks/evaluate.h"
#include "core/computed/computed_source.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

constexpr uint64_t kWrittenRows = 384, kWrittenColumns = 512;  // more than are encoded at a time

Tensor random_floats(const char* name, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(kWrittenRows * kWrittenColumns);
  for (float& value : values) value = normal(random);
  return make_f32_tensor(name, {kWrittenRows, kWrittenColumns}, values, all_codecs());
}

// Rows are scaled and columns reversed before.
Tensor to_be(const char* codec, uint32_t seed) {
  auto factors = std::make_shared<std::vector<float>>(kWrittenRows);
  auto index = std::make_shared<std::vector<uint32_t>>(kWrittenColumns);
  for (size_t i = 0; i < kWrittenRows; ++i) (*factors)[i] = 1.0F + static_cast<float>(i) / 100;
  for (uint32_t i = 0; i < kWrittenColumns; ++i) (*index)[i] = kWrittenColumns - 1 - i;
  Tensor out = recode(random_floats(codec, seed), *find_codec(all_codecs(), codec)).value();
  out = with_op(std::move(out), ScaleRows{factors}).value();
  return with_op(std::move(out), PermuteColumns{index}).value();
}

constexpr const char* kWrittenCodecs[] = {
    "bf16", "f16", "q8_0", "q4_k", "nvfp4_modelopt", "fp8_tensor", "fp8_channel", "fp8_block"};

TEST(WrittenSource, HasTheValuesThatAreWritten) {
  for (const char* name : kWrittenCodecs) {
    const Codec& codec = *find_codec(all_codecs(), name);
    for (const Tensor& made : {to_be(name, 1), recode(random_floats(name, 1), codec).value()}) {
      const Tensor written = stored_as_written(made);
      ASSERT_TRUE(written.is_stored());
      EXPECT_EQ(written.codec, made.codec);
      const auto expected = sample_rows(made, UINT64_MAX), found = sample_rows(written, UINT64_MAX);
      ASSERT_TRUE(expected.has_value() && found.has_value()) << name;
      EXPECT_EQ(found->values, expected->values) << name;
    }
  }
}

TEST(WrittenSource, SharesStatisticsWithPeers) {
  Tensor own = to_be("nvfp4_modelopt", 1), larger = to_be("nvfp4_modelopt", 2);
  larger = with_op(std::move(larger),
                   ScaleRows{std::make_shared<const std::vector<float>>(kWrittenRows, 100.0F)})
               .value();
  const auto alone = sample_rows(stored_as_written(own), UINT64_MAX);
  share_statistics({&own, &larger});
  const auto expected = sample_rows(own, UINT64_MAX);
  const auto found = sample_rows(stored_as_written(own), UINT64_MAX);
  ASSERT_TRUE(alone.has_value() && expected.has_value() && found.has_value());
  EXPECT_EQ(found->values, expected->values);
  EXPECT_NE(found->values, alone->values);
}

void expect_ranges_of_whole(const ByteSource& source, const char* name) {
  std::vector<std::byte> whole(source.size_bytes());
  ASSERT_TRUE(source.read(0, whole).has_value()) << name;
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, whole.size() / 2 + 3}) {
    for (const uint64_t length : {uint64_t{1}, uint64_t{77}, uint64_t{100'000}}) {
      if (offset > whole.size()) continue;
      std::vector<std::byte> out(std::min<uint64_t>(length, whole.size() - offset));
      ASSERT_TRUE(source.read(offset, out).has_value()) << name;
      EXPECT_TRUE(
          std::equal(out.begin(), out.end(), whole.begin() + static_cast<std::ptrdiff_t>(offset)))
          << name << ' ' << offset << ' ' << length;
    }
  }
  std::vector<std::byte> two(2);
  EXPECT_FALSE(source.read(whole.size() - 1, two).has_value());
}

TEST(WrittenSource, AnyRangeIsThatOfTheWhole) {
  for (const char* name : kWrittenCodecs) {
    const Tensor written = stored_as_written(to_be(name, 3));
    for (const auto& part : written.stored().parts) expect_ranges_of_whole(*part[0].source, name);
  }
}

TEST(WrittenSource, WhatDecidesAboutTheBytesIsInItsOperation) {
  const auto operation_of = [](const Tensor& tensor) {
    return stored_as_written(tensor).stored().parts[0][0].source->computed()->operation();
  };
  const Tensor made = to_be("q4_k", 1);
  Tensor weighted = made, searched = made;
  auto weights = std::make_shared<ColumnWeights>();
  weights->weights.assign(kWrittenColumns, 2.0F);
  std::get<Recoded>(weighted.origin).weights = weights;
  std::get<Recoded>(searched.origin).options.search = ScaleSearch::kBest;
  EXPECT_EQ(operation_of(made), operation_of(to_be("q4_k", 2)));  // its inputs are in the digest
  EXPECT_NE(operation_of(made), operation_of(to_be("q5_k", 1)));
  EXPECT_NE(operation_of(made), operation_of(weighted));
  EXPECT_NE(operation_of(made), operation_of(searched));
}

TEST(WrittenSource, ScansWhereAScaleIsOfTheEntireTensor) {
  const auto scans = [](const char* codec) {
    return scans_when_read(*stored_as_written(to_be(codec, 1)).stored().parts[0][0].source);
  };
  EXPECT_TRUE(scans("nvfp4_modelopt"));
  EXPECT_FALSE(scans("q8_0"));
}

}  // namespace
}  // namespace ckpt
