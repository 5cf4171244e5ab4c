#include "core/model/codec.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

constexpr PartRule kBf16Rule[] = {{"", Dtype::kBF16, 1, 1}};
constexpr PartRule kThreeRules[] = {
    {"", Dtype::kU8, 1, 2}, {"_scale", Dtype::kF8E4M3, 1, 16}, {"_scale_2", Dtype::kF32, 0, 0}};
constexpr Codec kPlain{
    .name = "bf16", .help = "", .parts = kBf16Rule, .band_rows = 1, .block_values = 1};
constexpr Codec kOther{.name = "other",
                       .help = "",
                       .scheme = Scheme::kMxfp8,
                       .parts = kBf16Rule,
                       .band_rows = 1,
                       .block_values = 1};
constexpr Codec kThree{
    .name = "three", .help = "", .parts = kThreeRules, .band_rows = 1, .block_values = 16};
constexpr const Codec* kList[] = {&kThree, &kOther, &kPlain};

TEST(Codec, FindsByNameOrNot) {
  EXPECT_EQ(find_codec(kList, "three"), &kThree);
  EXPECT_EQ(find_codec(kList, "bf16"), &kPlain);
  EXPECT_EQ(find_codec(kList, "BF16"), nullptr);
  EXPECT_EQ(find_codec(kList, ""), nullptr);
  EXPECT_EQ(find_codec({}, "bf16"), nullptr);
}

TEST(Codec, PlainCodecIsTheOneOfTheDtypeWithoutAScheme) {
  EXPECT_EQ(&plain_codec(kList, Dtype::kBF16), &kPlain);
}

TEST(CodecDeathTest, PlainCodecOfAnAbsentDtypeIsABug) {
  EXPECT_DEATH(plain_codec(kList, Dtype::kU8), "without a plain codec");
}

TEST(Codec, PartShapeRoundsTilesUp) {
  const PartShape codes = part_shape(kThreeRules[0], 3, 32);
  EXPECT_EQ(codes.rows, 3u);
  EXPECT_EQ(codes.elements, 16u);
  EXPECT_EQ(codes.size_bytes, 48u);
  const PartShape scales = part_shape(kThreeRules[1], 3, 32);
  EXPECT_EQ(scales.elements, 2u);
  EXPECT_EQ(scales.size_bytes, 6u);
  const PartRule square{"_scale_inv", Dtype::kF32, 128, 128};
  EXPECT_EQ(part_shape(square, 129, 256).rows, 2u);
  EXPECT_EQ(part_shape(square, 129, 257).elements, 3u);
  EXPECT_EQ(part_shape(square, 128, 128).size_bytes, 4u);
}

TEST(Codec, TileZeroIsTheWholeAxis) {
  const PartShape whole = part_shape(kThreeRules[2], 1000, 4096);
  EXPECT_EQ(whole.rows, 1u);
  EXPECT_EQ(whole.elements, 1u);
  EXPECT_EQ(whole.size_bytes, 4u);
  const PartRule per_row{"_scale", Dtype::kBF16, 1, 0};
  EXPECT_EQ(part_shape(per_row, 7, 4096).size_bytes, 14u);
}

TEST(Codec, StatsCombineToTheLargest) {
  Stats stats{1.5f};
  combine(stats, {0.5f});
  EXPECT_EQ(stats.amax, 1.5f);
  combine(stats, {2.5f});
  EXPECT_EQ(stats.amax, 2.5f);
}

}  // namespace
}  // namespace ckpt
