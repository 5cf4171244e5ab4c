// Splitting tensors and joining them are inverse to each other, wherever the
// reading starts and ends.
#include "core/computed/interleaved_source.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/computed/strided_source.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

Tensor counting_tensor(const std::string& name, std::vector<uint64_t> shape, float first) {
  uint64_t count = 1;
  for (const uint64_t size : shape) count *= size;
  std::vector<float> values;
  for (uint64_t i = 0; i < count; ++i) values.push_back(first + static_cast<float>(i));
  return make_f32_tensor(name, std::move(shape), values, all_codecs());
}

std::vector<std::byte> all_bytes(const ByteSource& source) {
  std::vector<std::byte> out(source.size_bytes());
  EXPECT_TRUE(source.read(0, out));
  return out;
}

TEST(Weave, TakesRunsInTurn) {
  const Tensor a = counting_tensor("a", {3, 2}, 0), b = counting_tensor("b", {3, 1}, 100);
  const auto interleaved = interleave({{a, 2}, {b, 1}}, {3, 3});
  ASSERT_TRUE(interleaved) << interleaved.error().text();
  EXPECT_EQ(read_values(*interleaved, 100).value(),
            (std::vector<float>{0, 1, 100, 2, 3, 101, 4, 5, 102}));
}

TEST(Weave, AnyRangeIsThatOfTheWhole) {
  const Tensor a = counting_tensor("a", {40, 7}, 0), b = counting_tensor("b", {40, 5}, 1000);
  const auto interleaved = interleave({{a, 7}, {b, 5}}, {40, 12});
  ASSERT_TRUE(interleaved);
  const ByteSource& source = *interleaved->stored().parts[0][0].source;
  const std::vector<std::byte> whole = all_bytes(source);
  for (uint64_t offset = 0; offset < whole.size(); offset += 37) {
    for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{50}, whole.size() - offset}) {
      if (offset + size > whole.size()) continue;
      std::vector<std::byte> part(size);
      ASSERT_TRUE(source.read(offset, part));
      EXPECT_EQ(std::memcmp(part.data(), whole.data() + offset, size), 0);
    }
  }
  std::vector<std::byte> beyond(2);
  EXPECT_FALSE(source.read(whole.size() - 1, beyond));
}

TEST(Weave, UndoesTakeEvery) {
  const Tensor rows = counting_tensor("rows", {12, 5}, 0);
  const auto even = take_every(rows, 0, 2), odd = take_every(rows, 1, 2);
  ASSERT_TRUE(even && odd);
  const auto interleaved = interleave({{*even, 5}, {*odd, 5}}, {12, 5});
  ASSERT_TRUE(interleaved);
  EXPECT_EQ(read_values(*interleaved, 100).value(), read_values(rows, 100).value());
}

TEST(Weave, RefusesWhatDoesNotEndTogether) {
  const Tensor a = counting_tensor("a", {3, 2}, 0), b = counting_tensor("b", {4, 1}, 0);
  EXPECT_FALSE(interleave({{a, 2}, {b, 1}}, {10}));
  EXPECT_FALSE(interleave({{a, 2}}, {7}));
  EXPECT_FALSE(interleave({{a, 0}}, {6}));
}

TEST(RepackedPart, AnyRangeIsThatOfTheWhole) {
  const Codec& blocks = *find_codec(all_codecs(), "mxfp4");
  std::vector<std::byte> bytes(9 * 2 * 17);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  const Tensor tensor = make_tensor("t", {9, 64}, blocks, bytes);
  const Codec& parts = *find_codec(all_codecs(), "mxfp4_ct");
  const auto codes = repacked_part(tensor, parts, 0), scales = repacked_part(tensor, parts, 1);
  ASSERT_EQ(codes->size_bytes(), 9u * 32);
  ASSERT_EQ(scales->size_bytes(), 9u * 2);
  const std::vector<std::byte> whole = all_bytes(*codes);
  for (uint64_t offset = 0; offset < whole.size(); offset += 13) {
    std::vector<std::byte> part(std::min<uint64_t>(40, whole.size() - offset));
    ASSERT_TRUE(codes->read(offset, part));
    EXPECT_EQ(std::memcmp(part.data(), whole.data() + offset, part.size()), 0);
  }
  const std::vector<std::byte> exponents = all_bytes(*scales);
  for (size_t i = 0; i < exponents.size(); ++i) EXPECT_EQ(exponents[i], bytes[i * 17]);
}

}  // namespace
}  // namespace ckpt
