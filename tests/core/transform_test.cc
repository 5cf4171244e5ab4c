#include "core/model/transform.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

TEST(Glob, LiteralTextMatchesItselfOnly) {
  EXPECT_TRUE(glob_matches("output.weight", "output.weight"));
  EXPECT_FALSE(glob_matches("output.weight", "output_weight"));
  EXPECT_FALSE(glob_matches("output", "output.weight"));
  EXPECT_FALSE(glob_matches("weight", "output.weight"));
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_FALSE(glob_matches("", "a"));
  EXPECT_FALSE(glob_matches("a", ""));
}

TEST(Glob, StarTakesAnyRun) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("*", "blk.0.attn_q.weight"));
  EXPECT_TRUE(glob_matches("blk.*.attn_q.*", "blk.10.attn_q.weight"));
  EXPECT_FALSE(glob_matches("blk.*.attn_q.*", "blk.10.attn_k.weight"));
  EXPECT_TRUE(glob_matches("*a*b", "aXbXab"));
  EXPECT_FALSE(glob_matches("*a*b", "aXbXa"));
  EXPECT_TRUE(glob_matches("**.weight**", "x.weight"));
}

TEST(Glob, QuestionMarkTakesOneCharacter) {
  EXPECT_TRUE(glob_matches("blk.?.x", "blk.7.x"));
  EXPECT_FALSE(glob_matches("blk.?.x", "blk.17.x"));
  EXPECT_FALSE(glob_matches("?", ""));
}

TEST(Glob, SetTakesOneOfItsMembers) {
  EXPECT_TRUE(glob_matches("attn_[qkv].weight", "attn_k.weight"));
  EXPECT_FALSE(glob_matches("attn_[qkv].weight", "attn_o.weight"));
  EXPECT_TRUE(glob_matches("blk.[0-3].x", "blk.2.x"));
  EXPECT_FALSE(glob_matches("blk.[0-3].x", "blk.4.x"));
  EXPECT_TRUE(glob_matches("[!q]", "k"));
  EXPECT_FALSE(glob_matches("[!q]", "q"));
  EXPECT_TRUE(glob_matches("[]]", "]"));
  EXPECT_TRUE(glob_matches("[a-]", "-"));
}

TEST(Glob, SetThatIsNeverClosedIsText) {
  EXPECT_TRUE(glob_matches("a[b", "a[b"));
  EXPECT_FALSE(glob_matches("a[b", "ab"));
  EXPECT_TRUE(glob_matches("[", "["));
}

TEST(Glob, CaseCounts) { EXPECT_FALSE(glob_matches("Model.*", "model.norm")); }

TEST(Glob, ManyStarsCostNoExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(5000, 'a')));
  EXPECT_TRUE(glob_matches(pattern, std::string(5000, 'a')));
}

TEST(Options, LastOneCountsAndAllAreKept) {
  Options options;
  options.add("keep", "a");
  options.add("type", "q4_k_m");
  options.add("keep", "b");
  EXPECT_EQ(options.get("keep"), "b");
  EXPECT_EQ(options.all("keep"), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(options.get("pure").has_value());
  EXPECT_TRUE(options.all("pure").empty());
  EXPECT_EQ(options.pairs().size(), 3u);
}

}  // namespace
}  // namespace ckpt
