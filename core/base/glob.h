// Shell-style globs over whole names: * any run, ? one byte, [abc] [a-z] [!abc] a set; case counts.
//
//   "*.layers.[0-3].mlp*"     runs  ".layers." set ".mlp"    open in front and at the end
//
// A "]" right after the opening is a member of the set; a "[" that is never closed stands for
// itself. Patterns and names come from files. Each run is searched once, from the end of the run
// before it, without backtracking, so that time grows with the pattern and with the name, not with
// their product. Lists of globs are indexed by parts that matching names must contain, not tried
// one by one.
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
  // The literal pieces, which every matching name contains in order. They point into this.
  std::vector<std::string_view> pieces() const;

 private:
  using Set = std::bitset<256>;
  // Elements without a star between them.
  struct Run {
    size_t begin, end;        // of bytes_
    bool is_literal;          // only bytes
    size_t table = SIZE_MAX;  // of tables_, for long runs with sets
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

  std::string bytes_;              // one for each element
  std::vector<uint32_t> sets_of_;  // its set, from 1; 0: the byte itself; empty: all bytes
  std::vector<Set> sets_;
  std::vector<Run> runs_;
  std::vector<std::vector<uint64_t>> tables_;  // bit i of row c: element i takes byte c
  bool has_star_ = false, is_open_front_ = false, is_open_back_ = false;
};

// Many globs that are matched against many names.
class GlobList {
 public:
  GlobList() = default;
  explicit GlobList(const std::vector<std::string>& patterns);

  size_t size() const { return globs_.size(); }
  bool matches_any(std::string_view name) const;
  // The numbers of all patterns that match, ascending.
  std::vector<uint32_t> matching(std::string_view name) const;

 private:
  template <class Take>
  void visit(std::string_view name, const Take& take) const;

  std::vector<Glob> globs_;
  PartIndex keys_;  // of each glob the piece that the fewest globs have
  std::vector<std::vector<uint32_t>> globs_of_;  // by the number of the key
  std::vector<uint32_t> without_key_;            // only wildcards
};

}  // namespace ckpt
