// Keys of rank_pattern and alpha_pattern, as Python's re.match(rf"(.*\.)?({key})$", name).
#include "transforms/lora/module_pattern.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

bool fits(std::string_view pattern, std::string_view module) {
  const auto parsed = ModulePattern::parse(pattern);
  EXPECT_TRUE(parsed) << pattern;
  return parsed && parsed->matches(module);
}

TEST(ModulePattern, MatchesTheEntireNameOrAllBehindADot) {
  EXPECT_TRUE(fits("q_proj", "model.layers.0.self_attn.q_proj"));
  EXPECT_TRUE(fits("q_proj", "q_proj"));
  EXPECT_FALSE(fits("proj", "model.q_proj"));
  EXPECT_FALSE(fits("q_proj", "model.q_proj.x"));
  EXPECT_TRUE(fits("layers.2.mlp.up_proj", "model.layers.2.mlp.up_proj"));
  EXPECT_FALSE(fits("layers.2.mlp.up_proj", "model.layers.12.mlp.up_proj"));
  EXPECT_FALSE(fits("^layers.2", "model.layers.2"));
  EXPECT_TRUE(fits("^model.layers.2$", "model.layers.2"));
}

TEST(ModulePattern, ReadsClassesGroupsAndRepetitions) {
  EXPECT_TRUE(fits(R"(.*\.0\.mlp\.(gate|up)_proj)", "model.layers.0.mlp.up_proj"));
  EXPECT_FALSE(fits(R"(.*\.0\.mlp\.(gate|up)_proj)", "model.layers.10.mlp.up_proj"));
  EXPECT_TRUE(fits(R"(layers\.\d+\.mlp)", "layers.17.mlp"));
  EXPECT_TRUE(fits("[a-c]{2,3}x?", "abc"));
  EXPECT_FALSE(fits("[a-c]{2,3}x?", "a"));
  EXPECT_FALSE(fits("[^a-c]+", "xay"));
  EXPECT_TRUE(fits("(?:ab)*c", "ababc"));
  EXPECT_TRUE(fits("a{2}", "aa"));
  EXPECT_TRUE(fits("a+?b", "aab"));
  EXPECT_TRUE(fits(R"([\d_]+)", "1_2"));
}

TEST(ModulePattern, TakesLittleTimeForPatternsThatBacktrack) {
  EXPECT_FALSE(fits("(a*)*b", std::string(500, 'a')));
  EXPECT_FALSE(fits("(a|a|aa)+b", std::string(500, 'a')));
}

TEST(ModulePattern, RejectsWhatItCannotRead) {
  for (const std::string_view text : {"(a", "a)", "[a", "a**", "*a", R"(\b)", R"((a)\1)", "(?=a)",
                                      "a{3,2}", "a{", "a{0}", "[b-a]", "\\", "a{2000}"}) {
    EXPECT_FALSE(ModulePattern::parse(text)) << text;
  }
  EXPECT_FALSE(ModulePattern::parse(std::string(100, '(') + std::string(100, ')')));
  EXPECT_FALSE(ModulePattern::parse(std::string(2000, 'a')));
}

}  // namespace
}  // namespace ckpt
