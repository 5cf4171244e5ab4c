#include "core/base/regex.h"

#include <gtest/gtest.h>

#include <string>

namespace ckpt {
namespace {

bool finds(std::string_view pattern, std::string_view text) {
  const auto regex = Regex::parse(pattern);
  EXPECT_TRUE(regex.has_value()) << pattern;
  return regex && regex->is_found_in(text);
}

TEST(RegexRules, FindsWhatStdRegexSearchFinds) {
  const char* kTensorNames[] = {"blk.0.ffn_down.weight", "blk.10.ffn_down_exps.weight",
                                "output.weight", "token_embd.weight", ""};
  struct Row {
    const char* pattern;
    const char* found;  // one letter a name
  };
  // The expected results are those of std::regex_search in libstdc++.
  const Row kFindingRows[] = {
      {"ffn_down", "yynnn"},
      {"blk.0.ffn_down.weight", "ynnnn"},
      {R"(blk\.(0|1)\.ffn_.*)", "ynnnn"},
      {R"(blk\.\d{2}\.)", "nynnn"},
      {R"(blk\.[0-9]+\.ffn_(up|down)(_exps)?\.weight$)", "yynnn"},
      {"^output", "nnynn"},
      {"weight$", "yyyyn"},
      {"^$", "nnnny"},
      {"", "yyyyy"},
      {"[^a-z._0-9]", "nnnnn"},
      {R"([\d]+\.ffn)", "yynnn"},
      {"(?:blk|token).{2,8}ffn", "yynnn"},
      {"(a|b)*c{0}d", "yynyn"},
      {"x{2,}", "nnnnn"},
  };
  for (const Row& row : kFindingRows) {
    std::string found;
    for (const char* name : kTensorNames) found += finds(row.pattern, name) ? 'y' : 'n';
    EXPECT_EQ(found, row.found) << row.pattern;
  }
}

TEST(RegexRules, AKeyIsInAllThatMatches) {
  const std::pair<const char*, const char*> kKeys[] = {
      {R"(^(?:.*layers\.3\.mlp\.up.*))", "layers.3.mlp.up"},
      {R"(^(?:^model\.layers\.3$))", "model.layers.3"},
      {"ab?cd", "cd"},
      {"ab*", "a"},
      {"(ab)+c", "c"},
      {"ab[cd]e{2}", "ab"},
      {"(?:ab)(?:c)d", "abcd"},
      {"abc|d", ""},
      {".*", ""},
      {"", ""},
  };
  for (const auto& [pattern, key] : kKeys) EXPECT_EQ(Regex::parse(pattern)->key(), key) << pattern;
}

TEST(RegexRules, RejectsWhatItDoesNotRead) {
  for (const char* pattern :
       {"(", ")", "a)", "[a", "*a", "a**", "+", "a{2", "a{3,2}", "(?=a)", "(?<n>a)", R"(\1)",
        R"(a\)", "[[:alpha:]]", "[z-a]", "[]a]", "^*", "{2}", "a{9999}"}) {
    EXPECT_FALSE(Regex::parse(pattern).has_value()) << pattern;
  }
  EXPECT_FALSE(Regex::parse(std::string(200, '(')).has_value());
  EXPECT_FALSE(Regex::parse("((a{64}){64}){64}").has_value());
}

TEST(RegexRules, TakesNoTimeForHostilePatterns) {
  const std::string text(20'000, 'a');
  EXPECT_FALSE(finds("(a*)*b", text));
  EXPECT_FALSE(finds("(a|aa)+$b", text));
  EXPECT_FALSE(finds("(.*)(.*)(.*)(.*)(.*)x", text));
}

}  // namespace
}  // namespace ckpt
