#include "core/base/name_list.h"

#include <algorithm>

namespace ckpt {
namespace {

std::vector<std::string> each_once(std::vector<std::string> entries) {
  std::ranges::sort(entries);
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  return entries;
}

}  // namespace

NameList::NameList(std::vector<std::string> entries)
    : entries_(std::move(entries)),
      parts_({entries_.begin(), entries_.end()}),
      globs_(each_once(entries_)) {}

}  // namespace ckpt
