// From the names of a Hugging Face checkpoint to those of GGUF, by the rows of a family.
//
//   model.layers.3.mlp.experts.17.up_proj.weight   rule blk.{}.ffn_up_exps, numbers 3 and 17
//
// Only the first {} of a row is filled into the new name; the second counts experts, which become
// one tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/models.h"

namespace ckpt {

// A row with `from` that matches a name without its suffix.
template <class Rule>
struct RuleMatch {
  const Rule* rule = nullptr;
  std::string_view suffix;           // ".weight", ".bias" or ""
  std::vector<std::string> numbers;  // what each {} stood for
};
using Match = RuleMatch<NameRule>;
inline constexpr std::string_view kNameSuffixes[] = {"", ".weight", ".bias"};

// `suffix` must outlive the match.
template <class Rule>
std::optional<RuleMatch<Rule>> match_rule(std::span<const Rule> rules, std::string_view name,
                                          std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  RuleMatch<Rule> out;
  for (const Rule& rule : rules) {
    if (matches_pattern(rule.from, name, out.numbers)) {
      out.rule = &rule;
      out.suffix = suffix;
      return out;
    }
  }
  return std::nullopt;
}

std::optional<Match> find_name_rule(const Family& family, std::string_view name);
// Exact targets have their suffix already.
std::string gguf_name(std::string_view target, const Match& match);

// The number of the expert that `match` names, of `count`. Fails: kCorrupt when it is too large.
Result<uint64_t> expert_number(const Match& match, const std::string& tensor, uint64_t count);

}  // namespace ckpt
