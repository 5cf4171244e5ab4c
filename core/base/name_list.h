// A list of names and globs out of a configuration, asked for many names: which modules a
// quantization leaves out.
//
// Such lists have an entry for every module of models with tens of thousands, and may come from
// anybody, so that trying each entry on each name would take hours.
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
  // Some entry is `name`.
  bool holds(std::string_view name) const { return parts_.find(name).has_value(); }
  // Some entry is `name`, or what stands before one of its dots.
  bool holds_parent_of(std::string_view name) const { return parts_.has_parent_of(name); }
  // Some entry is a part of `name`, wherever in it. Any name has the empty part.
  bool holds_part_of(std::string_view name) const { return parts_.has_part_of(name); }
  // Some entry, as a glob, matches `name` whole.
  bool matches(std::string_view name) const { return globs_.matches_any(name); }

 private:
  std::vector<std::string> entries_;
  PartIndex parts_;
  GlobList globs_;
};

}  // namespace ckpt
