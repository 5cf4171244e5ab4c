// Names are found, and those that come twice, also among names that nearly agree.
#include "core/model/name_index.h"

#include <gtest/gtest.h>

#include <string>

namespace ckpt {
namespace {

TEST(NameIndex, FindsEveryNameAndNoOther) {
  for (const size_t count : {0, 1, 2, 3, 17, 1000, 5000}) {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back("layer." + std::to_string(i * 7) + ".w");
    const NameIndex index({names.begin(), names.end()});
    EXPECT_EQ(index.size(), count);
    for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(index.find(names[i]), i);
    EXPECT_EQ(index.find("layer.1.w"), std::nullopt);
    EXPECT_EQ(index.find(""), std::nullopt);
    EXPECT_EQ(index.find_twice(), std::nullopt);
  }
  EXPECT_EQ(NameIndex().find("a"), std::nullopt);
}

TEST(NameIndex, TellsWhichNameComesTwiceFirst) {
  using Pair = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(NameIndex({"a", "b", "c", "b", "a"}).find_twice(), Pair(1, 3));
  EXPECT_EQ(NameIndex({"", "a", ""}).find_twice(), Pair(0, 2));
  const NameIndex thrice({"x", "y", "y", "y"});
  EXPECT_EQ(thrice.find_twice(), Pair(1, 2));
  EXPECT_EQ(thrice.find("y"), 1u);
}

}  // namespace
}  // namespace ckpt
