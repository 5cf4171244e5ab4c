// The step that renames tensors to the names of their class. A rule follows from two names that
// transformers' class takes for the same tensor, or that have the same shape and share at least
// their last two words:
//
//   unknown                                missing
//   _orig_mod.model.norm.weight            model.norm.weight
//                                          from=_orig_mod.,to=
//   model.layers.7.attn.q_proj.weight      model.layers.7.self_attn.q_proj.weight
//                                          from=*.attn.q_proj.weight,to=*.self_attn.q_proj.weight
#include <algorithm>
#include <cctype>
#include <map>

#include "checks/subject/subject.h"

namespace ckpt {
namespace {

using Shapes = std::map<std::string, std::vector<uint64_t>>;  // by name
using RenameRule = std::pair<std::string, std::string>;       // prefixes, or a star and an end each

std::optional<std::string> applied(const RenameRule& rule, const std::string& name) {
  const auto& [from, to] = rule;
  if (from[0] != '*') {
    return name.starts_with(from) ? std::optional(to + name.substr(from.size())) : std::nullopt;
  }
  if (name.size() < from.size() || !name.ends_with(from.substr(1))) return std::nullopt;
  return name.substr(0, name.size() - from.size() + 1) + to.substr(1);
}

// The length of the common leading words, including the last dot.
size_t common_words(std::string_view a, std::string_view b) {
  const auto at = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  return a.substr(0, at).rfind('.') + 1;
}

// Returns the rule that turns one name of a tensor into the other. It begins with the last of the
// words that both begin with, unless that is a number: "*.mlp.linear_gate.weight".
RenameRule rule_between(const std::string& name, const std::string& wanted) {
  size_t start = common_words(name, wanted);
  if (start < 2) return {};
  const size_t before = name.rfind('.', start - 2);
  const bool is_number = std::isdigit(static_cast<unsigned char>(name[start - 2])) != 0;
  start = is_number || before == name.npos ? start - 1 : before;
  return {"*" + name.substr(start), "*" + wanted.substr(start)};
}

// The rule for `name` that is right for most tensors; empty if no missing name is similar.
RenameRule rule_for(const std::string& name, const Shapes& unknown, const Shapes& missing) {
  const auto backwards = [](const std::string& text) {
    return std::string(text.rbegin(), text.rend()) + ".";
  };
  size_t most = 0;
  std::array<RenameRule, 2> rules;
  const std::string turned = backwards(name);
  const std::vector<uint64_t>& own_shape = unknown.at(name);
  for (const auto& [wanted, shape] : missing) {
    if (shape != own_shape) continue;
    const size_t end = common_words(turned, backwards(wanted));
    const size_t start = common_words(name, wanted);
    const bool has_two_words = end > name.size() - name.rfind('.');
    if (!has_two_words || start + end <= most) continue;
    most = start + end;
    // If the other name ends in this one, its prefix is the first word.
    const size_t kept = end > name.size() ? name.size() - name.find('.') - 1 : end - 1;
    rules[0] = {name.substr(0, name.size() - kept), wanted.substr(0, wanted.size() - kept)};
    rules[1] = start < 2 ? RenameRule()
                         : RenameRule("*" + name.substr(start - 1), "*" + wanted.substr(start - 1));
  }
  const auto right = [&](const RenameRule& rule) {
    return std::ranges::count_if(unknown, [&](const auto& each) {
      return !rule.first.empty() && missing.contains(applied(rule, each.first).value_or(""));
    });
  };
  return right(rules[1]) > right(rules[0]) ? rules[1] : rules[0];
}

}  // namespace

std::string renaming_step(const Subject& on) {
  constexpr size_t kMostRules = 64;
  Shapes missing, unknown;
  std::map<std::string, std::string> wanted;  // by the file's name
  for (const Deviation& each : on.parameters.missing) {
    missing[each.name] = each.expected;
    if (!each.other_name.empty()) wanted[each.other_name] = each.name;
  }
  for (const ExtraTensor& each : on.parameters.extra)
    unknown[each.name] = on.tensor(each.name)->shape;
  std::vector<RenameRule> rules;
  std::vector<std::string> words;
  size_t tried = 0;
  for (const auto& [name, shape] : unknown) {
    const auto renames = [&](const RenameRule& rule) { return applied(rule, name).has_value(); };
    if (std::ranges::any_of(rules, renames)) continue;
    RenameRule rule = rule_for(name, unknown, missing);
    const auto same = wanted.find(name);
    if (rule.first.empty() && same != wanted.end()) rule = rule_between(name, same->second);
    if (++tried > kMostRules) return {};
    if (rule.first.empty()) continue;
    words.push_back(fmt::format("from={},to={}", rule.first, rule.second));
    rules.push_back(std::move(rule));
  }
  for (const Tensor& tensor : on.checkpoint.tensors) {
    for (const RenameRule& rule : rules) {
      const auto renamed = applied(rule, tensor.name);
      if (renamed && !unknown.contains(tensor.name)) return {};
      if (renamed) missing.erase(*renamed);
    }
  }
  return words.empty() || !missing.empty() ? "" : fmt::format("rename:{}", fmt::join(words, ","));
}

}  // namespace ckpt
