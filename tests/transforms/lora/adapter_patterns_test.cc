// Keys of rank_pattern and alpha_pattern, as Python's re.match(rf"(.*\.)?({key})$", name).
#include <gtest/gtest.h>

#include "transforms/lora/adapter.h"

namespace ckpt {
namespace {

bool fits(std::string_view pattern, std::string_view module) {
  const auto parsed = module_regex(pattern);
  EXPECT_TRUE(parsed) << pattern;
  return parsed && parsed->is_found_in(module);
}

TEST(AdapterPatterns, MatchesTheEntireNameOrAllBehindADot) {
  EXPECT_TRUE(fits("q_proj", "model.layers.0.self_attn.q_proj"));
  EXPECT_TRUE(fits("q_proj", "q_proj"));
  EXPECT_FALSE(fits("proj", "model.q_proj"));
  EXPECT_FALSE(fits("q_proj", "model.q_proj.x"));
  EXPECT_TRUE(fits("layers.2.mlp.up_proj", "model.layers.2.mlp.up_proj"));
  EXPECT_FALSE(fits("layers.2.mlp.up_proj", "model.layers.12.mlp.up_proj"));
  EXPECT_FALSE(fits("^layers.2", "model.layers.2"));
  EXPECT_TRUE(fits("^model.layers.2$", "model.layers.2"));
}

TEST(AdapterPatterns, ReadsClassesGroupsAndRepetitions) {
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

TEST(AdapterPatterns, RejectsPartsThatAreNotExpressions) {
  for (const std::string_view text : {"(a", "a)|(b", "[a", R"(\b)", "(?=a)", "a{3,2}"}) {
    EXPECT_FALSE(module_regex(text)) << text;
  }
}

}  // namespace
}  // namespace ckpt
