#include "transforms/to_gguf/names.h"

namespace ckpt {

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

Result<uint64_t> part_number(const Match& match, const std::string& tensor, uint64_t count) {
  const std::string& digits = match.numbers.back();
  const uint64_t number = digits.size() > 9 ? UINT64_MAX : std::stoull(digits);
  if (number < count) return number;
  return corrupt("tensor '{}' is number {}; config.json has {} of them", tensor, digits, count);
}

}  // namespace ckpt
