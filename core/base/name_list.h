// A list of names and globs from a configuration that is matched with many names, such as the
// modules that a quantization excludes.
//
// Such a list may have an entry for each of tens of thousands of modules, and may come from
// anybody. Trying each entry with each name would take hours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"
#include "core/base/part_index.h"

namespace ckpt {

class NameList {
 public:
  explicit NameList(std::vector<std::string> entries);

  const std::vector<std::string>& entries() const { return entries_; }
  // Whether some entry equals `name`.
  bool holds(std::string_view name) const { return parts_.find(name).has_value(); }
  // Whether some entry equals `name` or the part of it before one of its dots.
  bool holds_parent_of(std::string_view name) const { return parts_.has_parent_of(name); }
  // Whether some entry occurs anywhere in `name`. The empty entry occurs in every name.
  bool holds_part_of(std::string_view name) const { return parts_.has_part_of(name); }
  // Whether some entry, as a glob, matches the entire `name`.
  bool matches(std::string_view name) const { return globs_.matches_any(name); }

 private:
  std::vector<std::string> entries_;
  PartIndex parts_;
  GlobList globs_;
};

}  // namespace ckpt
