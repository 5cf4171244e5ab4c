// Floats read as F32 wherever the reading starts and ends.
#include "core/computed/decoded_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

constexpr uint64_t kValues = 40'000;  // more than are decoded at a time

std::vector<std::byte> encoded(const Codec& codec, const std::vector<float>& values) {
  std::vector<std::byte> out(values.size() * size_bytes(codec.parts[0].dtype));
  const std::vector<std::span<std::byte>> parts = {out};
  codec.encode({values, values.size()}, {}, parts);
  return out;
}

TEST(DecodedSource, AnyRangeIsThatOfTheFloats) {
  std::vector<float> values(kValues);
  for (size_t i = 0; i < kValues; ++i) values[i] = static_cast<float>(i % 128) - 64;
  const auto expected = std::as_bytes(std::span(values));
  for (const char* name : {"bf16", "f16"}) {
    const Codec& codec = *find_codec(all_codecs(), name);
    std::vector<std::byte> bytes = encoded(codec, values);
    const uint64_t size = bytes.size();
    bytes.insert(bytes.begin(), 3, std::byte{0xFF});  // slices may be at odd offsets
    const DecodedSource source({make_blob("b", std::move(bytes)), 3, size}, codec);
    ASSERT_EQ(source.size_bytes(), expected.size());
    for (const uint64_t offset : {0, 1, 2, 3, 4, 70'001, 65'536}) {
      for (const uint64_t length : {0, 1, 3, 4, 9, 65'536, 80'003}) {
        std::vector<std::byte> out(length);
        ASSERT_TRUE(source.read(offset, out).has_value()) << offset << ' ' << length;
        EXPECT_TRUE(
            std::equal(out.begin(), out.end(), expected.begin() + static_cast<long>(offset)))
            << name << ' ' << offset << ' ' << length;
      }
    }
    std::vector<std::byte> two(2);
    EXPECT_FALSE(source.read(expected.size() - 1, two).has_value());
    EXPECT_FALSE(source.read(UINT64_MAX, two).has_value());
  }
}

TEST(DecodedSource, ATensorKeepsItsValues) {
  const Codec& f32 = *find_codec(all_codecs(), "f32");
  const Codec& bf16 = *find_codec(all_codecs(), "bf16");
  const std::vector<float> values = {1, -2, 3, 4.5f};
  const Tensor tensor = make_tensor("t", {2, 2}, bf16, encoded(bf16, values));
  const Tensor decoded = stored_as_f32(tensor, f32);
  EXPECT_EQ(decoded.codec, &f32);
  EXPECT_EQ(decoded.shape, tensor.shape);
  const Slice& slice = decoded.stored().parts.at(0).at(0);
  std::vector<float> out(4);
  ASSERT_TRUE(slice.source->read(slice.offset_bytes, std::as_writable_bytes(std::span(out))));
  EXPECT_EQ(out, values);
  EXPECT_EQ(stored_as_f32(decoded, f32).stored().parts, decoded.stored().parts);
}

// Blocks of FP8 may be cut off at both edges, and a reading may begin inside of one.
TEST(DecodedTensor, AnyRangeOfBlocksIsThatOfTheFloats) {
  const Codec& codec = *find_codec(all_codecs(), "fp8_block_ragged");
  constexpr uint64_t kRows = 300;
  constexpr uint64_t kColumns = 160;
  std::vector<std::byte> codes(kRows * kColumns);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(0x30 + i % 16);
  const std::vector<float> scales = {1, 2, 4, 8, 16, 32};  // 3 x 2
  std::vector<std::byte> scale_bytes(scales.size() * sizeof(float));
  std::memcpy(scale_bytes.data(), scales.data(), scale_bytes.size());
  Tensor tensor;
  tensor.name = "t";
  tensor.shape = {kRows, kColumns};
  tensor.codec = &codec;
  tensor.origin = Stored{{{Slice{make_blob("c", codes), 0, codes.size()}},
                          {Slice{make_blob("s", scale_bytes), 0, scale_bytes.size()}}}};
  const DecodedTensor source(tensor);
  std::vector<float> whole(kRows * kColumns);
  ASSERT_TRUE(source.read(0, std::as_writable_bytes(std::span(whole))).has_value());
  const float first = whole[0];  // code 0x30
  EXPECT_EQ(whole[128], first * 2);
  EXPECT_EQ(whole[128 * kColumns], first * 4);
  EXPECT_EQ(whole[256 * kColumns + 128], first * 32);
  const auto expected = std::as_bytes(std::span(whole));
  for (const uint64_t offset : {uint64_t{1}, uint64_t{127 * kColumns * 4 + 2}, uint64_t{130'003}}) {
    for (const uint64_t length : {1, 900, 60'001}) {
      std::vector<std::byte> out(length);
      ASSERT_TRUE(source.read(offset, out).has_value());
      EXPECT_TRUE(std::equal(out.begin(), out.end(), expected.begin() + static_cast<long>(offset)))
          << offset << ' ' << length;
    }
  }
}

}  // namespace
}  // namespace ckpt
