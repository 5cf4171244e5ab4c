// Translates Hugging Face names to GGUF names by the rows of a family.
//
//   model.layers.3.mlp.experts.17.up_proj.weight   rule blk.{}.ffn_up_exps, numbers 3 and 17
//
// Only the number for the first {} of a row appears in the new name; the second is the index of an
// expert, and all experts become one tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/models.h"

namespace ckpt {

// A row whose `from` matches a name without its suffix.
template <class Rule>
struct RuleMatch {
  const Rule* rule = nullptr;
  std::string_view suffix;           // ".weight", ".bias" or ""
  std::vector<std::string> numbers;  // the number for each {}
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
// Exact targets already contain their suffix.
std::string gguf_name(std::string_view target, const Match& match);

// The index of the expert in `match`. Fails: kCorrupt if it is not below `count`.
Result<uint64_t> expert_number(const Match& match, const std::string& tensor, uint64_t count);
// The index of the part in `match` (NameRule::parts). Fails: as expert_number().
Result<uint64_t> part_number(const Match& match, const std::string& tensor, uint64_t count);

}  // namespace ckpt
