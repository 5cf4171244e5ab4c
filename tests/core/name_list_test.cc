// Lists of names and globs answer as trying every entry would.
#include "core/base/name_list.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/model/transform.h"

namespace ckpt {
namespace {

const std::vector<std::string> kEntries = {
    "lm_head",
    "model.layers.0.mlp",
    "model.layers.1*",
    "*visual*",
    "a.[bc].d",
    "a.?.e",
    "",
    "x[",
    "model.layers.2.*",
    "mtp*",
    "*",
    "a*b*",
};
const std::vector<std::string> kNames = {
    "lm_head",
    "lm_head.x",
    "model.layers.0.mlp",
    "model.layers.0.mlp.up",
    "model.layers.0.mlpx",
    "model.layers.1",
    "model.layers.11.q",
    "model.visual.0",
    "a.b.d",
    "a.c.d",
    "a.d.d",
    "a.z.e",
    "",
    "x[",
    "x",
    "model.layers.2.",
    "model.layers.2",
    "mtp",
    "mtp.0",
    "a.[bc].d",
    "azb",
    "bza",
};

// Every list of up to two entries, so that no entry hides another.
TEST(NameList, AnswersAsTryingEveryEntryWould) {
  for (const std::string& first : kEntries) {
    for (const std::string& second : kEntries) {
      const std::vector<std::string> entries = {first, second};
      const NameList list(entries);
      for (const std::string& name : kNames) {
        const auto any = [&](auto test) {
          return std::any_of(entries.begin(), entries.end(), test);
        };
        const std::string what = first + " | " + second + " | " + name;
        EXPECT_EQ(list.holds(name), any([&](const auto& e) { return e == name; })) << what;
        EXPECT_EQ(list.holds_parent_of(name),
                  any([&](const auto& e) { return e == name || name.starts_with(e + "."); }))
            << what;
        EXPECT_EQ(list.holds_part_of(name),
                  any([&](const auto& e) { return name.find(e) != name.npos; }))
            << what;
        EXPECT_EQ(list.matches(name), any([&](const auto& e) { return glob_matches(e, name); }))
            << what;
      }
    }
  }
}

TEST(NameList, AnEmptyListHoldsNothing) {
  const NameList list({});
  EXPECT_FALSE(list.holds("") || list.holds_part_of("a") || list.matches("a"));
}

}  // namespace
}  // namespace ckpt
