// Words of lists and lines, endings and letters.
#include "core/base/words.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

TEST(Words, AreTakenOffALineOneByOne) {
  std::string_view line = "one two";
  EXPECT_EQ(take_word(line), "one");
  EXPECT_EQ(take_word(line), "two");
  EXPECT_TRUE(line.empty());
  EXPECT_EQ(take_word(line), "");
  line = "12 x";
  int number = 0;
  EXPECT_TRUE(take_number(line, number));
  EXPECT_EQ(number, 12);
  EXPECT_FALSE(take_number(line, number));
}

TEST(Words, AListHasWholeWords) {
  for (const std::string_view list : {"llama qwen2 qwen3", " llama qwen2 qwen3 "}) {
    EXPECT_TRUE(has_word(list, "llama"));
    EXPECT_TRUE(has_word(list, "qwen2"));
    EXPECT_TRUE(has_word(list, "qwen3"));
    EXPECT_FALSE(has_word(list, "qwen"));
    EXPECT_FALSE(has_word(list, "wen3"));
    EXPECT_FALSE(has_word(list, ""));
    EXPECT_FALSE(has_word(list, "llama qwen2"));
  }
}

TEST(Words, ExpandsListsInBraces) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(each_name("blk.{}.ffn_{up,down}.{weight,bias}"),
            (Names{"blk.{}.ffn_up.weight", "blk.{}.ffn_up.bias", "blk.{}.ffn_down.weight",
                   "blk.{}.ffn_down.bias"}));
  EXPECT_EQ(each_name("norm{1,2}"), (Names{"norm1", "norm2"}));
  EXPECT_EQ(each_name("blk.{}.x"), Names{"blk.{}.x"});
  EXPECT_EQ(each_name(""), Names{""});
}

TEST(Words, EndingsAndCase) {
  constexpr std::string_view kEndings[] = {".weight", ".bias"};
  EXPECT_TRUE(ends_with_any("a.bias", kEndings));
  EXPECT_FALSE(ends_with_any("a.scale", kEndings));
  EXPECT_EQ(lower_case("Q4_K_M \xC3\x84"), "q4_k_m \xC3\x84");
  EXPECT_EQ(upper_case("nvfp4 \xC3\xA4"), "NVFP4 \xC3\xA4");
}

TEST(Words, EndingsOfFilesAreComparedInEitherCase) {
  EXPECT_TRUE(has_ending("a/M.GGUF", ".gguf"));
  EXPECT_TRUE(has_ending("m.Gguf", ".gguf"));
  EXPECT_FALSE(has_ending("a/.gguf", ".gguf"));
  EXPECT_FALSE(has_ending(".gguf", ".gguf"));
  EXPECT_FALSE(has_ending("m.gguf.txt", ".gguf"));
}

TEST(Words, ReplacesEachOccurrence) {
  EXPECT_EQ(replace_all("a.b.c", ".", "::"), "a::b::c");
  EXPECT_EQ(replace_all("aaa", "aa", "a"), "aa");
  EXPECT_EQ(replace_all("x.linear.weight", ".linear.", "."), "x.weight");
  EXPECT_EQ(replace_all("language_model.a", "language_model.", ""), "a");
  EXPECT_EQ(replace_all("", "a", "b"), "");
}

}  // namespace
}  // namespace ckpt
