// Printed text moves no cursor, and words of commands keep their meaning.
#include "core/base/printable.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

namespace ckpt {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text : {"", "model.layers.0", "C:\\n", "Grüße", "模型", "😀", "\xC2\xA0"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesWhatMovesTheCursorOrHides) {
  EXPECT_EQ(printable("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(printable("\x1b[31m\x07\x7f"), "\\x1b[31m\\x07\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xC2\x9B"), "\\u009b");
  EXPECT_EQ(printable("\u202Egnp.exe"), "\\u202egnp.exe");
  EXPECT_EQ(printable("\u2066\u2069\u200F\u061C\u2028"), "\\u2066\\u2069\\u200f\\u061c\\u2028");
}

TEST(Printable, EscapesInvalidUtf8) {
  EXPECT_EQ(printable("\xFF"), "\\xff");
  EXPECT_EQ(printable("\xC3"), "\\xc3");
  EXPECT_EQ(printable("\xC0\x80"), "\\xc0\\x80");                    // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(printable("\xE2\x80ok"), "\\xe2\\x80ok");
}

TEST(Printable, IsIdempotent) {
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 12, ' ');
    for (char& c : text) c = static_cast<char>(random());
    const std::string once = printable(text);
    ASSERT_EQ(printable(once), once);
    for (const char c : once) ASSERT_FALSE((c >= 0 && c < 0x20) || c == 0x7F);
  }
}

TEST(Printable, JsonKeepsItsValues) {
  const nlohmann::json value = {{"a\u202Eb\u0085\x7f", "\n\x1b"}};
  const std::string shown = printable_json(value.dump());
  EXPECT_EQ(printable(shown), shown);
  EXPECT_EQ(nlohmann::json::parse(shown), value);
}

std::string answer_of_bash(const std::string& script) {
  std::array<char, 4096> buffer{};
  std::FILE* pipe = ::popen(("bash -c " + shell_word(script)).c_str(), "r");
  const size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe);
  EXPECT_EQ(::pclose(pipe), 0);
  return {buffer.data(), size};
}

TEST(ShellWord, IsReadAsTheTextThatItStandsFor) {
  for (const std::string text :
       {"plain-1.2", "", "two words", "it's", "$HOME `x` \"q\" \\", "a\\nb"}) {
    EXPECT_EQ(answer_of_bash("printf %s " + shell_word(text)), text);
  }
  for (const std::string text : {"new\nline", "esc\x1b[0m'\\n",
                                 "\xFF\x80"
                                 "8f",
                                 "\u202Eabc"}) {
    const std::string word = shell_word(text);
    EXPECT_EQ(printable(word), word);
    // The outer shell is sh, which need not know $'...': the script comes by the environment.
    ASSERT_EQ(::setenv("CKPT_TEST_SCRIPT", ("printf %s " + word).c_str(), 1), 0);
    EXPECT_EQ(answer_of_bash("eval \"$CKPT_TEST_SCRIPT\""), text) << word;
  }
}

TEST(ShellPath, CannotBeReadAsAnOption) {
  EXPECT_EQ(shell_path("-g"), "./-g");
  EXPECT_EQ(shell_path("-a b"), "'./-a b'");
  EXPECT_EQ(shell_path("a/-g"), "a/-g");
  EXPECT_EQ(shell_path(""), shell_word(""));
}

}  // namespace
}  // namespace ckpt
