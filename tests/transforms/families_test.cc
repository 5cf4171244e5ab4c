// The tables of families hold what the code that reads them takes for granted.
#include "transforms/families/families.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "transforms/transforms.h"

namespace ckpt {
namespace {

size_t count_holes(std::string_view text) {
  size_t count = 0;
  for (size_t at = text.find("{}"); at != std::string_view::npos; at = text.find("{}", at + 2)) {
    ++count;
  }
  return count;
}

TEST(Families, ArchitecturesAndModelTypesBelongToOne) {
  std::set<std::string> seen;
  for (const Family* family : families()) {
    for (std::string_view list : {family->architectures, family->model_types}) {
      while (!list.empty()) {
        const std::string word(next_word(list));
        EXPECT_FALSE(word.empty()) << family->name;
        EXPECT_TRUE(seen.insert(word).second) << word;
      }
    }
  }
  EXPECT_EQ(all_families().size(), families().size());
}

TEST(Families, RowsAreWellFormed) {
  for (const Family* family : families()) {
    for (const auto list : family->names) {
      for (const NameRule& rule : list) {
        const bool is_expert = rule.change == Change::kExpert;
        EXPECT_EQ(count_holes(rule.to), std::min<size_t>(count_holes(rule.from), 1)) << rule.from;
        EXPECT_EQ(count_holes(rule.from) == 2, is_expert) << rule.from;
        EXPECT_EQ(rule.change == Change::kExpertsGateUp, !rule.second.empty()) << rule.from;
      }
    }
    for (const KeyRule& rule : family->keys) EXPECT_FALSE(rule.key.empty());
  }
}

// Stacks come in the order of their rows: down, gate, up.
TEST(Families, ExpertsComeDownGateUp) {
  std::vector<std::string_view> order;
  for (const NameRule& rule : kExpertNames) {
    if (rule.change == Change::kExpert) order.push_back(rule.to);
  }
  EXPECT_EQ(order, (std::vector<std::string_view>{"blk.{}.ffn_down_exps", "blk.{}.ffn_gate_exps",
                                                  "blk.{}.ffn_up_exps"}));
}

TEST(Families, NextWord) {
  std::string_view list = "one two";
  EXPECT_EQ(next_word(list), "one");
  EXPECT_EQ(next_word(list), "two");
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(next_word(list), "");
}

}  // namespace
}  // namespace ckpt
