// Case-sensitive shell-style globs for entire names: * any run, ? one byte, [abc] [!a-z] a set.
//
//   "*.layers.[0-3].mlp*"     runs  ".layers." set ".mlp"    open at the start and at the end
//
// A "]" directly after the "[" that opens a set is a member of it; a "[" that no "]" closes matches
// the character "[". Patterns and names come from files. Each run is searched once, from the end of
// the previous run, without backtracking, so that time grows with the sum of the sizes of pattern
// and name, not with their product. Lists of globs are indexed by parts that matching names must
// contain, instead of being tried one by one.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/part_index.h"

namespace ckpt {

class Glob {
 public:
  explicit Glob(std::string_view pattern);

  bool matches(std::string_view name) const;
  // The literal pieces, which every matching name contains in order. They point into this object.
  std::vector<std::string_view> pieces() const;

 private:
  using Set = std::bitset<256>;
  // A sequence of elements without a star.
  struct Run {
    size_t begin, end;        // in bytes_
    bool is_literal;          // consists of bytes only
    size_t table = SIZE_MAX;  // index in tables_, for long runs with sets
    size_t size() const { return end - begin; }
  };

  void end_run();
  void add_set(const Set& set);
  void build_table(Run& run);
  bool takes(size_t element, char byte) const;
  std::string_view text_of(const Run& run) const {
    return std::string_view(bytes_).substr(run.begin, run.size());
  }
  bool fits(const Run& run, std::string_view name, size_t at) const;
  size_t find(const Run& run, std::string_view name) const;
  size_t find_long(const Run& run, std::string_view name) const;

  std::string bytes_;              // one byte for each element
  std::vector<uint32_t> sets_of_;  // set of each element, from 1; 0: a byte; empty: only bytes
  std::vector<Set> sets_;
  std::vector<Run> runs_;
  std::vector<std::vector<uint64_t>> tables_;  // bit i of row c: element i matches byte c
  bool has_star_ = false, is_open_front_ = false, is_open_back_ = false;
};

// Matches many globs with many names.
class GlobList {
 public:
  GlobList() = default;
  explicit GlobList(const std::vector<std::string>& patterns);

  size_t size() const { return globs_.size(); }
  bool matches_any(std::string_view name) const;
  // The indices of all matching patterns, ascending.
  std::vector<uint32_t> matching(std::string_view name) const;

 private:
  template <class Take>
  void visit(std::string_view name, const Take& take) const;

  std::vector<Glob> globs_;
  PartIndex keys_;  // for each glob, the piece that the fewest globs have
  std::vector<std::vector<uint32_t>> globs_of_;  // by index of the key
  std::vector<uint32_t> without_key_;            // globs of wildcards only
};

}  // namespace ckpt
