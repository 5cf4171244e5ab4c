#include "core/model/step_options.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

enum class Fruit : uint8_t { kApple, kPear, kPlum };
constexpr Choice kFruits[] = {{"apple", Fruit::kApple},
                              {"pear", Fruit::kPear},
                              {"plum", Fruit::kPlum},
                              {"prune", Fruit::kPlum, true}};
constexpr OptionRule kRules[] = {
    option::choice("fruit", kFruits, "which").by_default("pear"),
    option::choice("more", kFruits, "which in addition").repeated(),
    option::yes_no("peeled", "without its skin"),
    option::number("count", "N", "how many", {1, 12}),
    option::glob("basket", "where from").repeated(),
    option::path("recipe", "FILE", "what it is for"),
    option::type("weight", "stored as"),
    option::pair("set", "KEY=VALUE", "a label").repeated(),
    option::text("label", "TEXT", "a word").or_empty(),
};

std::string error_of(const Options& given) {
  const auto values = OptionValues::read(kRules, given, "jam");
  return values ? "no error" : values.error().text();
}

OptionValues read(const Options& given) {
  auto values = OptionValues::read(kRules, given, "jam");
  EXPECT_TRUE(values) << values.error().text();
  return values ? std::move(*values) : OptionValues();
}

TEST(OptionValues, AreWhatWasGivenInItsKind) {
  const OptionValues values = read(
      {{"fruit", "Plum"}, {"peeled", "true"}, {"count", "2.5"}, {"label", ""}, {"set", "a=b=c"}});
  EXPECT_EQ(values.choice<Fruit>("fruit"), Fruit::kPlum);
  EXPECT_TRUE(values.yes("peeled"));
  EXPECT_EQ(values.number("count"), 2.5);
  EXPECT_EQ(values.find("label"), "");
  EXPECT_EQ(split_pair(values.text("set")), std::pair(std::string("a"), std::string("b=c")));
  EXPECT_TRUE(read({{"peeled", "1"}}).yes("peeled"));
  EXPECT_FALSE(read({{"peeled", "0"}}).yes("peeled"));
  EXPECT_FALSE(read({{"peeled", "false"}}).yes("peeled"));
}

TEST(OptionValues, AreTheDefaultsWhereNothingWasGiven) {
  const OptionValues values = read({});
  EXPECT_EQ(values.choice<Fruit>("fruit"), Fruit::kPear);
  EXPECT_FALSE(values.yes("peeled"));
  EXPECT_FALSE(values.number("count"));
  EXPECT_FALSE(values.find("recipe"));
  EXPECT_EQ(values.text("recipe"), "");
  EXPECT_TRUE(values.all("basket").empty());
  EXPECT_FALSE(values.find_choice<Fruit>("more"));
  EXPECT_FALSE(values.has("fruit"));
}

TEST(OptionValues, KeepTheOrderOfARepeatedOption) {
  const OptionValues values =
      read({{"basket", "b*"}, {"more", "apple"}, {"basket", "a*"}, {"more", "prune"}});
  EXPECT_EQ(values.all("basket"), (std::vector<std::string>{"b*", "a*"}));
  EXPECT_EQ(values.choices<Fruit>("more"), (std::vector<Fruit>{Fruit::kApple, Fruit::kPlum}));
  EXPECT_EQ(values.given().size(), 4u);
  EXPECT_EQ(values.given()[2].text, "a*");
}

TEST(OptionValues, OfAnotherKindAreRefusedWithWhatWasExpected) {
  EXPECT_EQ(error_of({{"fruit", "pera"}}),
            "jam:fruit=pera; expected apple, pear or plum. Try: jam:fruit=pear");
  EXPECT_EQ(error_of({{"fruit", "stone"}}), "jam:fruit=stone; expected apple, pear or plum");
  EXPECT_EQ(error_of({{"peeled", "maybe"}}), "jam:peeled=maybe; expected yes or no");
  for (const char* text : {"0", "13", "nan", "inf", "2x", "-1", " 2", "1e99"}) {
    EXPECT_EQ(error_of({{"count", text}}),
              fmt::format("jam:count={}; expected a number from 1 to 12", text));
  }
  EXPECT_EQ(error_of({{"weight", "q6_j"}}),
            "jam:weight=q6_j; expected a type, as q6_k. Try: jam:weight=q6_k");
  EXPECT_EQ(error_of({{"set", "a"}}), "jam:set=a; expected KEY=VALUE");
  EXPECT_EQ(error_of({{"set", "=a"}}), "jam:set==a; expected KEY=VALUE");
  for (const char* key : {"fruit", "peeled", "count", "basket", "recipe", "weight", "set"}) {
    EXPECT_TRUE(error_of({{key, ""}}).starts_with(fmt::format("jam:{}= is empty", key))) << key;
  }
}

TEST(OptionValues, OfOneThatDoesNotRepeatAreOne) {
  EXPECT_EQ(error_of({{"fruit", "plum"}, {"fruit", "pear"}}),
            "jam:fruit=pear: fruit is plum already; expected one of them");
}

TEST(OptionValues, AreOfOptionsThatTheStepHas) {
  EXPECT_TRUE(
      error_of({{"friut", "plum"}}).starts_with("step 'jam' has no option 'friut'; it takes "))
      << error_of({{"friut", "plum"}});
  EXPECT_TRUE(error_of({{"friut", "plum"}}).ends_with("Try: jam:fruit=VALUE"));
}

TEST(OptionValues, ThatAreNeededAreAskedForTogether) {
  static constexpr OptionRule kNeeded[] = {
      option::path("from", "DIR", "a folder").required(),
      option::choice("fruit", kFruits, "which").required(),
      option::text("label", "TEXT", "a word"),
  };
  const auto values = OptionValues::read(kNeeded, {{"from", "x"}}, "jam");
  ASSERT_FALSE(values);
  EXPECT_EQ(
      values.error().text(),
      "fruit is missing; expected fruit=apple|pear|plum. Try: jam:from=DIR,fruit=apple|pear|plum");
}

TEST(OptionRule, SaysItselfInHelp) {
  EXPECT_EQ(kRules[0].value(), "apple|pear|plum");
  EXPECT_EQ(kRules[0].whole_help(), "which (default: pear)");
  EXPECT_EQ(kRules[2].value(), "yes|no");
  EXPECT_EQ(kRules[4].value(), "GLOB");
  EXPECT_EQ(kRules[4].whole_help(), "where from (may repeat)");
  EXPECT_EQ(kRules[0].required().whole_help(), "which (needed; default: pear)");
}

}  // namespace
}  // namespace ckpt
