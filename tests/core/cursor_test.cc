#include "core/io/cursor.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ckpt {
namespace {

SharedSource source_of(std::string_view bytes) {
  const auto raw = std::as_bytes(std::span(bytes));
  return make_blob("blob", {raw.begin(), raw.end()});
}

SharedSource pattern(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 % 251);
  return make_blob("pattern", std::move(bytes));
}

TEST(Cursor, ReadsLittleEndianNumbersInOrder) {
  Cursor cursor(
      source_of(std::string_view("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d"
                                 "\x0e\x0f\x00\x00\x80\x3f",
                                 19)));
  EXPECT_EQ(cursor.u8(), 0x01);
  EXPECT_EQ(cursor.u16(), 0x0302);
  EXPECT_EQ(cursor.u32(), 0x07060504u);
  EXPECT_EQ(cursor.u64(), 0x0f0e0d0c0b0a0908u);
  EXPECT_EQ(cursor.left_bytes(), 4u);
  EXPECT_EQ(cursor.f32(), 1.0f);
  EXPECT_EQ(cursor.position_bytes(), 19u);
  EXPECT_EQ(cursor.u8().error().code, ErrorCode::kCorrupt);
}

TEST(Cursor, SaysWhereAndHowMuchIsMissing) {
  Cursor cursor(source_of("abcde"));
  ASSERT_TRUE(cursor.skip(2));
  EXPECT_EQ(cursor.u32().error().what,
            "at byte 2: 3 bytes are left; expected 4: the file is truncated");
  EXPECT_EQ(cursor.position_bytes(), 2u);
  EXPECT_FALSE(cursor.skip(4));
  EXPECT_TRUE(cursor.skip(3));
}

TEST(Cursor, StaysInsideItsRange) {
  Cursor cursor(source_of("abcdefgh"), 2, 3);
  EXPECT_EQ(cursor.text(3), "cde");
  EXPECT_EQ(cursor.left_bytes(), 0u);
  Cursor beyond(source_of("abc"), 100, 100);
  EXPECT_EQ(beyond.left_bytes(), 0u);
  Cursor wide(source_of("abc"), 1, UINT64_MAX);
  EXPECT_EQ(wide.left_bytes(), 2u);
}

TEST(Cursor, RejectsCountsBeyondTheRemainingBytes) {
  const std::string bytes = std::string("\x03\0\0\0\0\0\0\0", 8) + std::string(12, 'x');
  EXPECT_EQ(Cursor(source_of(bytes)).count_u64(4, 100), 3u);
  EXPECT_FALSE(Cursor(source_of(bytes)).count_u64(5, 100));
  EXPECT_FALSE(Cursor(source_of(bytes)).count_u64(4, 2));
  EXPECT_EQ(Cursor(source_of(bytes)).count_u32(1, 3), 3u);
  Cursor behind(source_of("abcd" + bytes));  // the place is that of the count, not behind it
  ASSERT_TRUE(behind.skip(4));
  EXPECT_EQ(behind.count_u64(5, 100).error().what,
            "at byte 4: a count of 3, each of 5 bytes or more; only 12 bytes are left: the file is "
            "truncated");
  const std::string huge = std::string(8, '\xff') + std::string(16, 'x');
  EXPECT_FALSE(Cursor(source_of(huge)).count_u64(UINT64_MAX, UINT64_MAX));
  EXPECT_FALSE(Cursor(source_of(huge)).count_u64(1, UINT64_MAX));
}

TEST(Cursor, HugeRequestsFailBeforeMemoryIsTaken) {
  EXPECT_FALSE(Cursor(source_of("abc")).bytes(uint64_t{1} << 60));
  EXPECT_FALSE(Cursor(source_of("abc")).text(uint64_t{1} << 60));
  EXPECT_FALSE(Cursor(source_of(std::string(8, '\xff'))).text_u64(UINT64_MAX));
}

TEST(Cursor, TextsAreLimited) {
  const std::string bytes = std::string("\x05\0\0\0\0\0\0\0", 8) + "hello";
  EXPECT_EQ(Cursor(source_of(bytes)).text_u64(5), "hello");
  EXPECT_FALSE(Cursor(source_of(bytes)).text_u64(4));
  EXPECT_FALSE(Cursor(source_of(bytes.substr(0, 12))).text_u64(5));
}

// Reads of every length around the window's, so that each way of crossing it comes up.
TEST(Cursor, GivesTheSameBytesForAnyPieces) {
  const SharedSource source = pattern(300'000);
  for (const size_t piece : {1u, 7u, 4096u, 65535u, 65536u, 65537u, 100'000u}) {
    Cursor cursor(source);
    std::vector<std::byte> all;
    while (cursor.left_bytes() > 0) {
      const auto bytes = cursor.bytes(std::min<uint64_t>(piece, cursor.left_bytes()));
      ASSERT_TRUE(bytes);
      all.insert(all.end(), bytes->begin(), bytes->end());
    }
    const auto expected = source->memory();
    ASSERT_EQ(all.size(), expected.size());
    EXPECT_EQ(std::memcmp(all.data(), expected.data(), all.size()), 0) << piece;
  }
}

TEST(Cursor, SkipsAcrossTheWindow) {
  Cursor cursor(pattern(200'000));
  EXPECT_TRUE(cursor.u8());
  ASSERT_TRUE(cursor.skip(150'000));
  EXPECT_EQ(cursor.u8(), 150'001 * 7 % 251);
}

}  // namespace
}  // namespace ckpt
