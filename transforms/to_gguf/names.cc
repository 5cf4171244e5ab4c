#include "transforms/to_gguf/names.h"

#include <algorithm>

namespace ckpt {

bool matches_pattern(std::string_view pattern, std::string_view name,
                     std::vector<std::string>& numbers) {
  numbers.clear();
  while (!pattern.empty()) {
    if (pattern.starts_with("{}")) {
      const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
      if (digits == 0) return false;
      numbers.emplace_back(name.substr(0, digits));
      pattern.remove_prefix(2);
      name.remove_prefix(digits);
      continue;
    }
    const std::string_view text = pattern.substr(0, pattern.find("{}"));
    if (!name.starts_with(text)) return false;
    pattern.remove_prefix(text.size());
    name.remove_prefix(text.size());
  }
  return name.empty();
}

std::string fill_in(std::string_view pattern, const std::vector<std::string>& numbers) {
  std::string out(pattern);
  const size_t at = out.find("{}");
  if (at != std::string::npos && !numbers.empty()) out.replace(at, 2, numbers[0]);
  return out;
}

std::optional<Match> find_name_rule(const Family& family, std::string_view name) {
  for (const std::string_view suffix : kNameSuffixes) {
    for (const std::span<const NameRule> list : family.names) {
      if (auto match = match_rule(list, name, suffix)) return match;
    }
  }
  return std::nullopt;
}

std::string gguf_name(std::string_view target, const Match& match) {
  std::string name = fill_in(target, match.numbers);
  if (!name.ends_with(".weight") && !name.ends_with(".bias")) name += match.suffix;
  return name;
}

Result<uint64_t> expert_number(const Match& match, const std::string& tensor, uint64_t count) {
  const std::string& digits = match.numbers[1];
  const uint64_t number = digits.size() > 9 ? UINT64_MAX : std::stoull(digits);
  if (number < count) return number;
  return corrupt("tensor '{}' is expert {}; config.json has {} experts", tensor, digits, count);
}

}  // namespace ckpt
