#include "core/name_list.h"

#include <algorithm>
#include <set>

#include "core/transform.h"

namespace ckpt {

NameList::NameList(std::vector<std::string> entries) : entries_(std::move(entries)) {
  constexpr std::string_view kWildcards = "*?[";
  std::vector<std::string_view> prefixes;
  std::set<size_t> lengths;
  for (const std::string& entry : entries_) {
    lengths.insert(entry.size());
    const size_t wildcard = entry.find_first_of(kWildcards);
    if (wildcard == entry.npos) continue;
    if (entry.ends_with('*') && wildcard + 1 == entry.size()) {
      prefixes.push_back(std::string_view(entry).substr(0, wildcard));
    } else {
      globs_.push_back(entry);
    }
  }
  index_ = NameIndex({entries_.begin(), entries_.end()});
  prefixes_ = NameIndex(std::move(prefixes));
  lengths_.assign(lengths.begin(), lengths.end());
}

bool NameList::holds_parent_of(std::string_view name) const {
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    if (holds(name.substr(0, dot))) return true;
  }
  return holds(name);
}

bool NameList::holds_part_of(std::string_view name) const {
  for (const size_t length : lengths_) {
    if (length > name.size()) return false;
    for (size_t at = 0; at + length <= name.size(); ++at) {
      if (holds(name.substr(at, length))) return true;
    }
  }
  return false;
}

bool NameList::matches(std::string_view name) const {
  if (holds(name) && name.find_first_of("?[") == name.npos) return true;
  for (size_t length = 0; length <= name.size() && prefixes_.size() != 0; ++length) {
    if (prefixes_.find(name.substr(0, length))) return true;
  }
  const auto matching = [&](std::string_view glob) { return glob_matches(glob, name); };
  return std::any_of(globs_.begin(), globs_.end(), matching);
}

}  // namespace ckpt
