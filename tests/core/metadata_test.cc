#include "core/model/metadata.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

TEST(Metadata, KeepsOrderWhenAKeyIsReplaced) {
  Metadata metadata;
  metadata.append("a", MetaValue::u32(1));
  metadata.append("b", MetaValue::u32(2));
  metadata.set("a", MetaValue::text("new"));
  metadata.set("c", MetaValue::boolean(true));
  ASSERT_EQ(metadata.entries.size(), 3u);
  EXPECT_EQ(metadata.entries[0].key, "a");
  EXPECT_EQ(*metadata.find_text("a"), "new");
  EXPECT_EQ(metadata.entries[2].key, "c");
}

TEST(Metadata, RemoveSaysWhetherTheKeyWasThere) {
  Metadata metadata;
  metadata.append("a", MetaValue::u32(1));
  EXPECT_TRUE(metadata.remove("a"));
  EXPECT_FALSE(metadata.remove("a"));
  EXPECT_EQ(metadata.find("a"), nullptr);
}

TEST(Metadata, FindUnsignedTakesWholeNumbersFromZeroUp) {
  Metadata metadata;
  metadata.append("u", MetaValue{MetaType::kU64, UINT64_MAX});
  metadata.append("i", MetaValue::i32(7));
  metadata.append("negative", MetaValue::i32(-7));
  metadata.append("real", MetaValue::f32(7));
  metadata.append("flag", MetaValue::boolean(true));
  metadata.append("text", MetaValue::text("7"));
  EXPECT_EQ(metadata.find_unsigned("u"), UINT64_MAX);
  EXPECT_EQ(metadata.find_unsigned("i"), 7u);
  for (const auto key : {"negative", "real", "flag", "text", "absent"}) {
    EXPECT_EQ(metadata.find_unsigned(key), std::nullopt) << key;
  }
  EXPECT_EQ(metadata.find_text("u"), nullptr);
}

TEST(Metadata, ArraysPackTheirNumbers) {
  const MetaArray integers = make_i32_array({-1, 2, INT32_MIN});
  EXPECT_EQ(integers.numbers.size(), 12u);
  EXPECT_EQ(integers.count(), 3u);
  EXPECT_EQ(number_at(integers, 0), -1.0);
  EXPECT_EQ(number_at(integers, 2), -2147483648.0);
  EXPECT_EQ(number_at(make_f32_array({0.1f}), 0), static_cast<double>(0.1f));
  const MetaArray flags = make_bool_array({true, false});
  EXPECT_EQ(flags.numbers.size(), 2u);
  EXPECT_EQ(number_at(flags, 0), 1.0);
  EXPECT_EQ(make_text_array({"a", "b"}).count(), 2u);
  MetaArray nested;
  nested.element = MetaType::kArray;
  nested.arrays = {integers, flags};
  EXPECT_EQ(nested.count(), 2u);
  EXPECT_EQ(MetaArray{}.count(), 0u);
}

TEST(Metadata, NumberAtReadsEveryType) {
  const std::vector<std::pair<MetaType, double>> cases = {
      {MetaType::kU8, 255},   {MetaType::kI8, -1},
      {MetaType::kBool, 255}, {MetaType::kU16, 65535},
      {MetaType::kI16, -1},   {MetaType::kU32, 4294967295.0},
      {MetaType::kI32, -1},   {MetaType::kU64, 18446744073709551615.0},
      {MetaType::kI64, -1}};
  for (const auto& [type, expected] : cases) {
    MetaArray array;
    array.element = type;
    array.numbers.resize(2 * size_bytes(type), std::byte{0xFF});
    EXPECT_EQ(number_at(array, 1), expected) << name(type);
  }
}

TEST(Metadata, AnF32IsRoundedWhenItIsSet) {
  EXPECT_EQ(std::get<double>(MetaValue::f32(0.1).value), static_cast<double>(0.1f));
}

TEST(Metadata, TypesHaveNamesAndSizes) {
  EXPECT_EQ(name(MetaType::kU8), "u8");
  EXPECT_EQ(name(MetaType::kF64), "f64");
  EXPECT_EQ(size_bytes(MetaType::kBool), 1u);
  EXPECT_EQ(size_bytes(MetaType::kText), 0u);
  EXPECT_EQ(size_bytes(MetaType::kI64), 8u);
}

}  // namespace
}  // namespace ckpt
