// UTF-8 is taken in its shortest form only, and what is not UTF-8 is replaced as Python does.
#include "core/base/utf8.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

TEST(Utf8, TakesTheShortestFormOnly) {
  for (const char* text : {"", "a", "\x7F", "\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const char* text : {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "a\xFFz"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

// As bytes.decode(errors="replace").
TEST(Utf8, ARunThatCannotBeFinishedIsReplacedOnce) {
  EXPECT_EQ(as_utf8("a\xE2\x82z"), "a\uFFFDz");
  EXPECT_EQ(as_utf8("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(as_utf8("\xE0\x80"), "\uFFFD\uFFFD");
  EXPECT_EQ(as_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(as_utf8("\u00e9"), "\u00e9");
}

TEST(Utf8, ATextIsShortenedBetweenCharacters) {
  EXPECT_EQ(shorten("\u00e9\u00e9", 4), "\u00e9\u00e9");
  EXPECT_EQ(shorten("\u00e9\u00e9", 3), "\u00e9...");
}

}  // namespace
}  // namespace ckpt
