// The options of a step, declared as data. `--step NAME:key=value`, recipes, `ckpt list steps`,
// shell completion and the flags of convert are all made from these rules.
//
//   given Options ── read() by the rules, once ──▶ OptionValues, which the step queries
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

enum class ValueKind : uint8_t {
  kText,
  kChoice,  // one of a few words, in upper or lower case
  kYesNo,   // also "true" and "1", "false" and "0"
  kGlob,
  kPath,  // of a file or a folder; in a recipe relative to the recipe
  kType,  // type of a tensor: "q6_k", in upper or lower case
  kNumber,
  kPair,  // KEY=VALUE
};
std::string_view name_of(ValueKind kind);  // "choice"

// A word that an option accepts, and its meaning for the step.
struct Choice {
  std::string_view name;
  int meaning;
  bool is_alias = false;  // accepted but not shown

  constexpr Choice(std::string_view word, auto value, bool alias = false)
      : name(word), meaning(static_cast<int>(value)), is_alias(alias) {}
};

struct OptionRule {
  std::string_view name;
  ValueKind kind;
  std::string_view value_name;  // "DIR", "GLOB"; empty: the choices
  std::string_view help;
  std::span<const Choice> choices = {};
  std::string_view otherwise = {};  // value if the option is absent; empty: none
  double least = 0, most = 0;       // limits of a number, both inclusive
  bool repeats = false;
  bool is_required = false;
  bool may_be_empty = false;
  // The choice may instead be a file with one of these endings (".yaml", ".yml"), or another word,
  // which `other_names` describes.
  std::span<const std::string_view> file_endings = {};
  std::string_view other_names = {};
  std::vector<std::string> (*other_words)() = nullptr;
  std::string_view needs = {};  // an option without which this one has no effect

  // A copy with another value in one field.
  template <class T>
  constexpr OptionRule with(T OptionRule::*field, T held) const {
    OptionRule out = *this;
    out.*field = held;
    return out;
  }

  // Used in declarations: kGlobOption.repeated().
  constexpr OptionRule repeated() const { return with(&OptionRule::repeats, true); }
  constexpr OptionRule required() const { return with(&OptionRule::is_required, true); }
  constexpr OptionRule or_empty() const { return with(&OptionRule::may_be_empty, true); }
  constexpr OptionRule by_default(std::string_view value) const {
    return with(&OptionRule::otherwise, value);
  }
  constexpr OptionRule or_file(std::span<const std::string_view> endings) const {
    return with(&OptionRule::file_endings, endings);
  }
  constexpr OptionRule or_word(std::string_view names, std::vector<std::string> (*list)()) const {
    return with(&OptionRule::other_names, names).with(&OptionRule::other_words, list);
  }
  constexpr OptionRule only_with(std::string_view other) const {
    return with(&OptionRule::needs, other);
  }
  constexpr OptionRule called(std::string_view value) const {
    return with(&OptionRule::value_name, value);
  }

  // The accepted words; empty if the option accepts other values.
  std::vector<std::string> words() const;
  // Whether the value is a path, which in a recipe is relative to the recipe.
  bool is_path(std::string_view given) const {
    return kind == ValueKind::kPath || is_other_file(given);
  }
  bool is_other_file(std::string_view given) const {
    return std::ranges::any_of(file_endings, [&](auto ending) { return given.ends_with(ending); });
  }
  // The placeholder in help: "GLOB", "bf16|f16".
  std::string value() const;
  // The help and `more`, with the default and whether the option may repeat.
  std::string whole_help(std::string_view more = {}) const;

};
using OptionRules = std::span<const OptionRule>;

namespace option {

constexpr OptionRule text(std::string_view name, std::string_view value, std::string_view help) {
  return {name, ValueKind::kText, value, help};
}
constexpr OptionRule choice(std::string_view name, std::span<const Choice> choices,
                            std::string_view help) {
  return {name, ValueKind::kChoice, {}, help, choices};
}
constexpr OptionRule yes_no(std::string_view name, std::string_view help) {
  return {name, ValueKind::kYesNo, {}, help, {}, "no"};
}
constexpr OptionRule glob(std::string_view name, std::string_view help) {
  return {name, ValueKind::kGlob, "GLOB", help};
}
constexpr OptionRule path(std::string_view name, std::string_view value, std::string_view help) {
  return {name, ValueKind::kPath, value, help};
}
constexpr OptionRule type(std::string_view name, std::string_view help) {
  return {name, ValueKind::kType, "TYPE", help};
}
constexpr OptionRule number(std::string_view name, std::string_view value, std::string_view help,
                            std::pair<double, double> range) {
  return {name, ValueKind::kNumber, value, help, {}, {}, range.first, range.second};
}
constexpr OptionRule pair(std::string_view name, std::string_view value, std::string_view help) {
  return {name, ValueKind::kPair, value, help};
}

}  // namespace option

const OptionRule* find_rule(OptionRules rules, std::string_view key);  // nullptr: no such option

// Requires that `value` is of the rule's kind. `before` precedes the value in the message:
// "cast:type=", "--preset ". Fails: kUsage, with the nearest choice if there is one.
Status check_value(const OptionRule& rule, std::string_view value, std::string_view before);

// Splits KEY=VALUE at the first '='. Requires: a value of kPair.
std::pair<std::string, std::string> split_pair(std::string_view text);

// The given options in order; an option may occur several times.
class Options {
 public:
  using Pair = std::pair<std::string, std::string>;

  Options() = default;
  Options(std::initializer_list<Pair> pairs) : pairs_(pairs) {}

  void add(std::string key, std::string value) {
    pairs_.emplace_back(std::move(key), std::move(value));
  }
  void remove(std::string_view key) {
    std::erase_if(pairs_, [&](const Pair& pair) { return pair.first == key; });
  }
  std::optional<std::string> get(std::string_view key) const;  // the last value
  std::vector<std::string> all(std::string_view key) const;
  bool has(std::string_view key) const { return get(key).has_value(); }
  bool empty() const { return pairs_.empty(); }
  const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  std::vector<Pair> pairs_;
};

// Options as the rules of a step define them. Every query requires a rule with that name and kind.
// An option that was not given has the default of its rule.
class OptionValues {
 public:
  struct Value {
    const OptionRule* rule;
    std::string text;   // as given
    int meaning = 0;    // of a choice, -1 for a file or another word; 1 for yes
    double number = 0;  // of a number
  };

  // Fails: kUsage: an option without a rule, a repeated option that must not repeat, a missing
  // option or a missing option that it needs, a value of another kind. `step` names the step in the
  // message.
  static Result<OptionValues> read(OptionRules rules, const Options& given, std::string_view step);

  bool has(std::string_view key) const;  // given
  std::optional<std::string> find(std::string_view key) const;
  std::string text(std::string_view key) const { return find(key).value_or(std::string()); }
  std::vector<std::string> all(std::string_view key) const;
  bool yes(std::string_view key) const { return meaning(key, ValueKind::kYesNo) == 1; }
  std::optional<double> number(std::string_view key) const;
  template <class T>
  T choice(std::string_view key) const {
    const auto found = meaning(key, ValueKind::kChoice);
    CKPT_CHECK(found.has_value());
    return static_cast<T>(*found);
  }
  template <class T>
  std::optional<T> find_choice(std::string_view key) const {
    const auto found = meaning(key, ValueKind::kChoice);
    return found ? std::optional<T>(static_cast<T>(*found)) : std::nullopt;
  }
  template <class T>
  std::vector<T> choices(std::string_view key) const {
    std::vector<T> out;
    for (const Value& value : given_) {
      if (value.rule->name == key) out.push_back(static_cast<T>(value.meaning));
    }
    return out;
  }
  // The given options, in order.
  const std::vector<Value>& given() const { return given_; }

 private:
  const OptionRule& rule(std::string_view key) const;
  std::optional<Value> value(const OptionRule& rule) const;
  std::optional<int> meaning(std::string_view key, ValueKind kind) const;

  OptionRules rules_;
  std::vector<Value> given_;
};

// The error for an option that a step does not have: kUsage, with the nearest option.
Failure unknown_option(OptionRules rules, std::string_view step, std::string_view key);

}  // namespace ckpt
