// A list of names and globs out of a configuration, asked for many names: which modules a
// quantization leaves out.
//
// What a reader would get wrong: such lists have an entry for every module of models with tens of
// thousands, so that trying each entry on each name would take hours. Whole names, parts of names
// and globs that end in their only star are looked up; only other globs are tried one by one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/name_index.h"

namespace ckpt {

class NameList {
 public:
  explicit NameList(std::vector<std::string> entries);
  NameList(const NameList&) = delete;  // the indexes point into entries_
  NameList& operator=(const NameList&) = delete;

  const std::vector<std::string>& entries() const { return entries_; }
  // Some entry is `name`.
  bool holds(std::string_view name) const { return index_.find(name).has_value(); }
  // Some entry is `name`, or what stands before one of its dots.
  bool holds_parent_of(std::string_view name) const;
  // Some entry is a part of `name`, wherever in it. Any name has the empty part.
  bool holds_part_of(std::string_view name) const;
  // Some entry, as a glob, matches `name` whole.
  bool matches(std::string_view name) const;

 private:
  std::vector<std::string> entries_;
  NameIndex index_;
  NameIndex prefixes_;                   // of entries that are a prefix and one star
  std::vector<size_t> lengths_;          // of entries, each once, ascending
  std::vector<std::string_view> globs_;  // all other entries with wildcards
};

}  // namespace ckpt
