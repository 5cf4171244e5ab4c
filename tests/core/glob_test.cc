// Globs match what their definition says, one by one and in lists, in time that does not depend on
// how they were chosen.
#include "core/base/glob.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "core/model/transform.h"

namespace ckpt {
namespace {

// The definition, trying everything. Sets are read as they are defined: from the text, each time.
bool takes(std::string_view& pattern, char c) {
  const char first = pattern[0];
  if (first == '[') {
    size_t i = 1;
    const bool is_negated = i < pattern.size() && pattern[i] == '!';
    if (is_negated) ++i;
    bool found = false;
    for (const size_t start = i; i < pattern.size() && (pattern[i] != ']' || i == start);) {
      const bool is_range =
          i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']';
      found = found || (pattern[i] <= c && c <= pattern[i + (is_range ? 2 : 0)]);
      i += is_range ? 3 : 1;
    }
    if (i < pattern.size()) {
      pattern.remove_prefix(i + 1);
      return found != is_negated;
    }
  }
  pattern.remove_prefix(1);
  return first == '?' || first == c;
}

bool defined(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') {
    for (size_t skip = 0; skip <= name.size(); ++skip) {
      if (defined(pattern.substr(1), name.substr(skip))) return true;
    }
    return false;
  }
  if (name.empty()) return false;
  return takes(pattern, name[0]) && defined(pattern, name.substr(1));
}

std::string random_text(std::mt19937& random, std::string_view letters, size_t most) {
  std::string out(random() % (most + 1), ' ');
  for (char& c : out) c = letters[random() % letters.size()];
  return out;
}

TEST(Glob, MatchesAsItIsDefined) {
  std::mt19937 random(7);
  size_t matched = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string pattern = random_text(random, "ab*?[]-!*.", 9);
    const std::string name = random_text(random, "ab.-]![", 9);
    const bool expected = defined(pattern, name);
    matched += expected ? 1 : 0;
    ASSERT_EQ(glob_matches(pattern, name), expected) << pattern << " | " << name;
  }
  EXPECT_GT(matched, 5000u);
}

TEST(Glob, LongRunsOfSetsAreFoundWhereShortOnesAre) {
  for (const size_t size : {63, 64, 65, 127, 128, 129, 200}) {
    const std::string sets = [&] {
      std::string out;
      for (size_t i = 0; i < size; ++i) out += i % 3 == 0 ? "[ab]" : i % 3 == 1 ? "?" : "b";
      return out;
    }();
    std::string name(size, 'b');
    const Glob glob("*" + sets + "*x");
    EXPECT_TRUE(glob.matches("cc" + name + "x")) << size;
    EXPECT_TRUE(glob.matches("ccccb" + name + "ccx")) << size;
    name[size - 1 - (size - 1) % 3] = 'c';  // where "[ab]" stands last
    EXPECT_FALSE(glob.matches("c" + name + "x")) << size;
  }
}

TEST(GlobList, AnswersAsTryingEachWould) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> patterns(1 + random() % 20);
    for (std::string& pattern : patterns) pattern = random_text(random, "ab*?[]*.", 8);
    const GlobList list(patterns);
    for (int i = 0; i < 50; ++i) {
      const std::string name = random_text(random, "ab.", 10);
      std::vector<uint32_t> expected;
      for (uint32_t number = 0; number < patterns.size(); ++number) {
        if (defined(patterns[number], name)) expected.push_back(number);
      }
      ASSERT_EQ(list.matching(name), expected) << fmt::format("{}", fmt::join(patterns, " | "));
      ASSERT_EQ(list.matches_any(name), !expected.empty());
    }
  }
}

// The processor's seconds, so that a busy machine makes no difference.
double seconds_of(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

std::string repeated(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

// Each takes milliseconds; trying every place for every piece, or every glob on every name, takes
// from a minute up.
TEST(Glob, TimeDoesNotDependOnHowThePatternWasChosen) {
  const std::string as(400'000, 'a');
  const double taken = seconds_of([&] {
    EXPECT_FALSE(glob_matches(repeated("*a", 100'000) + "*b*", as));
    EXPECT_FALSE(glob_matches("*" + std::string(200'000, 'a') + "b*", as));
    EXPECT_FALSE(glob_matches(repeated("*" + std::string(2000, 'a') + "b", 100) + "*", as));
    EXPECT_FALSE(glob_matches(repeated("[", 400'000), as));
    EXPECT_FALSE(glob_matches("*" + repeated("?a", 1000) + "b*", as));
  });
  EXPECT_LT(taken, 20);
}

TEST(GlobList, SixteenThousandGlobsOnAsManyNames) {
  std::vector<std::string> globs;
  for (int i = 0; i < 16'000; ++i) globs.push_back(fmt::format("*layers.{}.*proj_{}[!a]*", i, i));
  const double taken = seconds_of([&] {
    const GlobList list(globs);
    size_t found = 0;
    for (int i = 0; i < 16'000; ++i) {
      found += list.matches_any(fmt::format("model.layers.{}.mlp.proj_{}.weight", i, i)) ? 1 : 0;
      found += list.matches_any(fmt::format("model.layers.{}.mlp.gate.weight", i)) ? 1 : 0;
    }
    EXPECT_EQ(found, 16'000u);
  });
  EXPECT_LT(taken, 20);
}

}  // namespace
}  // namespace ckpt
