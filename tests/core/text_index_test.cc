// Texts looked up one by one and many at a time.
#include "core/base/text_index.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace ckpt {
namespace {

TEST(TextIndex, FindsEachTextAndNoOther) {
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back(std::to_string(i * 7));
  const TextIndex index(texts);
  EXPECT_EQ(index.distinct(), 1000u);
  for (int i = 0; i < 7000; ++i) {
    const auto found = index.find(std::to_string(i));
    EXPECT_EQ(found, i % 7 == 0 ? std::optional<uint32_t>(i / 7) : std::nullopt) << i;
  }
}

TEST(TextIndex, OfEqualTextsTheFirstPlaceCounts) {
  const TextIndex index(std::vector<std::string_view>{"a", "b", "a", "", "b", ""});
  EXPECT_EQ(index.distinct(), 3u);
  EXPECT_EQ(index.find("a"), 0u);
  EXPECT_EQ(index.find("b"), 1u);
  EXPECT_EQ(index.find(""), 3u);
}

TEST(TextIndex, AnEmptyOneFindsNothing) {
  EXPECT_EQ(TextIndex().find(""), std::nullopt);
  std::array<uint32_t, 1> places = {};
  TextIndex().find_all(std::array<std::string_view, 1>{"a"}, places);
  EXPECT_EQ(places[0], TextIndex::kNone);
}

TEST(TextIndex, ManyAtATimeGiveThePlacesOfOneByOne) {
  std::vector<std::string> texts, asked;
  for (int i = 0; i < 5000; ++i) texts.push_back("t" + std::to_string(i * i % 6007));
  for (int i = 0; i < 3200; ++i) asked.push_back("t" + std::to_string(i * 3));
  const TextIndex index(texts);
  for (size_t count : {1, 2, 31, 32}) {
    for (size_t start = 0; start + count <= asked.size(); start += count) {
      const std::vector<std::string_view> some(
          asked.begin() + static_cast<ptrdiff_t>(start),
          asked.begin() + static_cast<ptrdiff_t>(start + count));
      std::vector<uint32_t> places(count);
      index.find_all(some, places);
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(places[i], index.find(some[i]).value_or(TextIndex::kNone)) << some[i];
      }
    }
  }
}

}  // namespace
}  // namespace ckpt
