// Every option of every step, held to what it declares.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/transforms/run_step.h"

namespace ckpt {
namespace {

// A value that no option of the kind takes; nullopt: all but nothing is one.
std::optional<std::string> wrong_value(ValueKind kind) {
  switch (kind) {
    case ValueKind::kChoice:
    case ValueKind::kYesNo:
    case ValueKind::kType: return "no-such-word";
    case ValueKind::kNumber: return "many";
    case ValueKind::kPair: return "without-a-sign";
    default: return std::nullopt;
  }
}

std::string right_value(const OptionRule& rule) {
  const std::map<ValueKind, std::string> values = {
      {ValueKind::kText, "word"}, {ValueKind::kGlob, "*"},
      {ValueKind::kPath, "a/b"},  {ValueKind::kType, "q6_k"},
      {ValueKind::kPair, "a=b"},  {ValueKind::kNumber, fmt::format("{}", rule.least)}};
  if (!rule.otherwise.empty()) return std::string(rule.otherwise);
  if (!rule.words().empty()) return rule.words()[0];
  return rule.other_words == nullptr ? values.at(rule.kind) : rule.other_words()[0];
}

// The values of all options that a step needs, and that its option `but` needs.
Options needed_by(const Transform& step, std::string_view but) {
  Options out;
  const auto option = std::ranges::find(step.options, but, &OptionRule::name);
  for (const OptionRule& rule : step.options) {
    const bool is_needed = rule.is_required || rule.name == option->needs;
    if (is_needed && rule.name != but) out.add(std::string(rule.name), right_value(rule));
  }
  return out;
}

TEST(StepOptions, AreEachDeclaredWhole) {
  std::set<ValueKind> kinds;
  for (const Transform* step : all_transforms()) {
    std::set<std::string_view> names;
    for (const OptionRule& rule : step->options) {
      SCOPED_TRACE(fmt::format("{}:{}", step->name, rule.name));
      kinds.insert(rule.kind);
      EXPECT_TRUE(names.insert(rule.name).second);
      EXPECT_FALSE(rule.help.empty());
      EXPECT_FALSE(rule.value().empty());
      const bool has_words = !rule.choices.empty() || rule.other_words != nullptr;
      EXPECT_EQ(rule.kind == ValueKind::kChoice, has_words);
      EXPECT_FALSE(rule.is_required && !rule.otherwise.empty());
      EXPECT_TRUE(rule.kind != ValueKind::kNumber || rule.least < rule.most);
    }
  }
  EXPECT_EQ(kinds.size(), 8u);  // a kind that no step declares is one too many
}

TEST(StepOptions, AcceptTheirDefaultsAndTheirFirstChoice) {
  for (const Transform* step : all_transforms()) {
    for (const OptionRule& rule : step->options) {
      Options given = needed_by(*step, rule.name);
      given.add(std::string(rule.name), right_value(rule));
      const auto values = OptionValues::read(step->options, given, step->name);
      EXPECT_TRUE(values) << values.error().text();
      for (const std::string& word : rule.words()) {
        EXPECT_TRUE(check_value(rule, word, "")) << step->name << ":" << rule.name << "=" << word;
      }
    }
  }
}

TEST(StepOptions, RefuseAWrongValueWithASentenceBeforeTheStepRuns) {
  for (const Transform* step : all_transforms()) {
    for (const OptionRule& rule : step->options) {
      const auto refused = [&](const std::string& value) {
        Options given = needed_by(*step, rule.name);
        given.add(std::string(rule.name), value);
        const auto made = step->apply({}, given, Context{all_codecs()});
        const std::string before = fmt::format("{}:{}={}", step->name, rule.name, value);
        ASSERT_FALSE(made) << before;
        EXPECT_EQ(made.error().code, ErrorCode::kUsage) << before;
        EXPECT_TRUE(made.error().what.starts_with(before)) << made.error().what;
        EXPECT_NE(made.error().what.find("; expected "), std::string::npos) << made.error().what;
      };
      if (const auto wrong = wrong_value(rule.kind)) refused(*wrong);
      if (!rule.may_be_empty) refused("");
    }
  }
}

TEST(StepOptions, AreRefusedWhereTheyComeTwiceAndMissedWhereTheyAreNeeded) {
  for (const Transform* step : all_transforms()) {
    for (const OptionRule& rule : step->options) {
      Options given = needed_by(*step, rule.name);
      if (rule.is_required) {
        step_test::expect_error(step->apply({}, given, Context{all_codecs()}), ErrorCode::kUsage,
                                fmt::format("{} is missing", rule.name));
      }
      for (int i = 0; i < 2; ++i) given.add(std::string(rule.name), right_value(rule));
      EXPECT_EQ(OptionValues::read(step->options, given, step->name).has_value(), rule.repeats)
          << step->name << ":" << rule.name;
    }
  }
}

TEST(StepOptions, ThatAreChosenFromMixturesKnowThemAll) {
  const OptionRule* type = find_rule(find_transform("quantize")->options, "type");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->words().size(), all_types().size());
  for (const char* name : {"Q4_K_M", "q4_K", "q3_k", "mxfp4"}) {
    EXPECT_TRUE(check_value(*type, name, "")) << name;
  }
}

}  // namespace
}  // namespace ckpt
