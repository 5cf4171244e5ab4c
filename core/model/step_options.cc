#include "core/model/step_options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/find.h"
#include "core/base/nearest.h"
#include "core/base/numbers.h"
#include "core/model/dtype.h"

namespace ckpt {
namespace {

constexpr Choice kYesAndNo[] = {{"yes", 1},         {"no", 0},      {"true", 1, true},
                                {"false", 0, true}, {"1", 1, true}, {"0", 0, true}};

std::span<const Choice> choices_of(const OptionRule& rule) {
  return rule.kind == ValueKind::kYesNo ? std::span<const Choice>(kYesAndNo) : rule.choices;
}

const Choice* find_choice_of(const OptionRule& rule, std::string_view text) {
  const auto choices = choices_of(rule);
  const auto found = std::ranges::find_if(
      choices, [&](const Choice& choice) { return is_same_word(choice.name, text); });
  return found == choices.end() ? nullptr : &*found;
}

std::vector<std::string> other_words_of(const OptionRule& rule) {
  return rule.other_words == nullptr ? std::vector<std::string>() : rule.other_words();
}

std::vector<std::string> type_names() {
  std::vector<std::string> out;
  for (uint32_t i = 0; i < kDtypeCount; ++i) out.emplace_back(info(static_cast<Dtype>(i)).name);
  return out;
}

Status check_number(const OptionRule& rule, std::string_view value, std::string_view before) {
  const auto number = number_from<double>(value);
  if (number && *number >= rule.least && *number <= rule.most) return {};
  return misuse("{}{}; expected a number from {} to {}", before, value, rule.least, rule.most);
}

// The names that begin with `word`, if they are few; none if `word` is too short.
std::vector<std::string> completions(std::string_view word, const std::vector<std::string>& names) {
  constexpr size_t kLeastLetters = 4, kMostNames = 5;
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (name.find_first_of("-_.", word.size()) == word.size() &&
        is_same_word(name.substr(0, word.size()), word)) {
      out.push_back(name);
    }
  }
  if (word.size() < kLeastLetters || out.size() > kMostNames) out.clear();
  return out;
}

Failure wrong_choice(const OptionRule& rule, std::string_view value, std::string_view before) {
  std::vector<std::string> names = names_in(choices_of(rule));
  std::ranges::move(other_words_of(rule), std::back_inserter(names));
  // In a path, in which other programs put such names, the last component counts.
  const size_t slash = rule.file_endings.empty() ? value.npos : value.rfind('/');
  const std::string_view word = slash == value.npos ? value : value.substr(slash + 1);
  const std::vector<std::string> longer = completions(word, names);
  const std::string hint = longer.empty() ? near_hint(word, names, before, "")
                                          : fmt::format("{}{}", before, alternatives(longer));
  std::vector<std::string> words = rule.words();
  if (!rule.file_endings.empty()) words.push_back(fmt::format("FILE{}", rule.file_endings[0]));
  if (!rule.other_names.empty()) words.emplace_back(rule.other_names);
  return misuse_hint(hint, "{}{}; expected {}", before, value, alternatives(words));
}

// Returns "cast:type=f32|f16|bf16": the step with all required options.
std::string needed(OptionRules rules, std::string_view step) {
  std::vector<std::string> words;
  for (const OptionRule& rule : rules) {
    if (rule.is_required) words.push_back(fmt::format("{}={}", rule.name, rule.value()));
  }
  return fmt::format("{}:{}", step, fmt::join(words, ","));
}

Result<OptionValues::Value> read_value(const OptionRule& rule, const std::string& text,
                                       std::string_view step) {
  CKPT_TRY(check_value(rule, text, fmt::format("{}:{}=", step, rule.name)));
  OptionValues::Value out{&rule, text};
  const Choice* choice = find_choice_of(rule, text);
  if (choice != nullptr || rule.kind == ValueKind::kChoice) {
    out.meaning = choice == nullptr ? -1 : choice->meaning;
  }
  if (rule.kind == ValueKind::kNumber) out.number = number_from<double>(text).value_or(0);
  return out;
}

}  // namespace

std::string_view name_of(ValueKind kind) {
  constexpr std::string_view kValueKinds[] = {"text", "choice", "yes-no", "glob",
                                              "path", "type",   "number", "pair"};
  return kValueKinds[static_cast<size_t>(kind)];
}

std::vector<std::string> OptionRule::words() const {
  std::vector<std::string> out;
  for (const Choice& choice : choices_of(*this)) {
    if (!choice.is_alias) out.emplace_back(choice.name);
  }
  return out;
}

std::string OptionRule::value() const {
  if (!value_name.empty()) return std::string(value_name);
  const std::string file = file_endings.empty() ? "" : fmt::format("|FILE{}", file_endings[0]);
  const std::string_view other = other_names.empty() ? "" : "|NAME";
  return fmt::format("{}{}{}", fmt::join(words(), "|"), file, other);
}

std::string OptionRule::whole_help(std::string_view more) const {
  std::vector<std::string> facts;
  if (is_required) facts.emplace_back("needed");
  if (!otherwise.empty()) facts.push_back(fmt::format("default: {}", otherwise));
  if (repeats) facts.emplace_back("may repeat");
  const std::string known = fmt::format("{}", fmt::join(facts, "; "));
  return fmt::format("{}{}{}", help, more, known.empty() ? "" : fmt::format(" ({})", known));
}

const OptionRule* find_rule(OptionRules rules, std::string_view key) {
  return find_by(rules, &OptionRule::name, key);
}

Status check_value(const OptionRule& rule, std::string_view value, std::string_view before) {
  if (value.empty() && !rule.may_be_empty) {
    return misuse("{} is empty; expected {}", before, rule.value());
  }
  switch (rule.kind) {
    case ValueKind::kChoice:
    case ValueKind::kYesNo:
      if (find_choice_of(rule, value) != nullptr || rule.is_other_file(value)) return {};
      if (std::ranges::count(other_words_of(rule), value) != 0) return {};
      return wrong_choice(rule, value, before);
    case ValueKind::kType:
      for (const std::string& name : type_names()) {
        if (is_same_word(name, value)) return {};
      }
      return misuse_hint(near_hint(value, type_names(), before, "ckpt list types"),
                         "{}{}; expected a type, as q6_k", before, value);
    case ValueKind::kNumber: return check_number(rule, value, before);
    case ValueKind::kPair:
      if (const size_t equals = value.find('='); equals != 0 && equals != value.npos) return {};
      return misuse("{}{}; expected {}", before, value, rule.value());
    default:
      return {};
  }
}

std::pair<std::string, std::string> split_pair(std::string_view text) {
  const size_t equals = text.find('=');
  CKPT_CHECK(equals != text.npos);
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::optional<std::string> Options::get(std::string_view key) const {
  const auto found = std::find_if(pairs_.rbegin(), pairs_.rend(),
                                  [&](const Pair& pair) { return pair.first == key; });
  return found == pairs_.rend() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Options::all(std::string_view key) const {
  std::vector<std::string> out;
  for (const auto& [name, value] : pairs_) {
    if (name == key) out.push_back(value);
  }
  return out;
}

Result<OptionValues> OptionValues::read(OptionRules rules, const Options& given,
                                        std::string_view step) {
  OptionValues out;
  out.rules_ = rules;
  for (const auto& [key, text] : given.pairs()) {
    const OptionRule* rule = find_rule(rules, key);
    if (rule == nullptr) return unknown_option(rules, step, key);
    if (!rule->repeats && out.has(key)) {
      return misuse("{}:{}={}: {} is {} already; expected one of them", step, key, text, key,
                    out.text(key));
    }
    CKPT_ASSIGN(out.given_.emplace_back(), read_value(*rule, text, step));
  }
  for (const Value& value : out.given_) {
    const auto [name, needs] = std::pair(value.rule->name, value.rule->needs);
    if (needs.empty() || out.has(needs)) continue;
    return misuse_hint("the same step without it", "{} has no effect without {}", name, needs);
  }
  for (const OptionRule& rule : rules) {
    if (!rule.is_required || out.has(rule.name)) continue;
    return misuse_hint(needed(rules, step), "{} is missing; expected {}={}", rule.name, rule.name,
                       rule.value());
  }
  return out;
}

const OptionRule& OptionValues::rule(std::string_view key) const {
  const OptionRule* found = find_rule(rules_, key);
  CKPT_CHECK(found != nullptr);
  return *found;
}

bool OptionValues::has(std::string_view key) const {
  return std::ranges::any_of(given_, [&](const Value& value) { return value.rule->name == key; });
}

std::optional<OptionValues::Value> OptionValues::value(const OptionRule& rule) const {
  const auto found = std::find_if(given_.rbegin(), given_.rend(),
                                  [&](const Value& value) { return value.rule == &rule; });
  if (found != given_.rend()) return *found;
  if (rule.otherwise.empty()) return std::nullopt;
  auto usual = read_value(rule, std::string(rule.otherwise), "default");
  CKPT_CHECK(usual.has_value());
  return std::move(*usual);
}

std::optional<std::string> OptionValues::find(std::string_view key) const {
  auto found = value(rule(key));
  return found ? std::optional(std::move(found->text)) : std::nullopt;
}

std::vector<std::string> OptionValues::all(std::string_view key) const {
  const OptionRule& wanted = rule(key);
  std::vector<std::string> out;
  for (const Value& value : given_) {
    if (value.rule == &wanted) out.push_back(value.text);
  }
  return out;
}

std::optional<double> OptionValues::number(std::string_view key) const {
  const OptionRule& wanted = rule(key);
  CKPT_CHECK(wanted.kind == ValueKind::kNumber);
  const auto found = value(wanted);
  return found ? std::optional(found->number) : std::nullopt;
}

std::optional<int> OptionValues::meaning(std::string_view key, ValueKind kind) const {
  const OptionRule& wanted = rule(key);
  CKPT_CHECK(wanted.kind == kind);
  const auto found = value(wanted);
  return found ? std::optional(found->meaning) : std::nullopt;
}

Failure unknown_option(OptionRules rules, std::string_view step, std::string_view key) {
  const std::vector<std::string> names = names_in(rules);
  const std::string near = nearest(key, names);
  if (near == key) {
    return misuse_hint(fmt::format("{}:{}=VALUE", step, key), "step '{}': option '{}' has no value",
                       step, key);
  }
  return misuse_hint(near.empty() ? "ckpt list steps" : fmt::format("{}:{}=VALUE", step, near),
                     "step '{}' has no option '{}'; it takes {}", step, key,
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace ckpt
