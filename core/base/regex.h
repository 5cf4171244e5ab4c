// Regular expressions in time that is proportional to pattern times text.
//
//   a . [a-z] [^a] \d \w \s \. | ( ) (?: ) * + ? {2} {2,} {2,5} ^ $
//
// Patterns come from people and files. All paths are followed in parallel (Thompson's
// construction), so no pattern makes a search backtrack; repetitions are expanded, up to
// kMaxRegexStates. Back references, look-around and named classes are rejected.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

inline constexpr size_t kMaxRegexStates = 4096;

class Regex {
 public:
  // Fails: kUsage: not an expression, not supported or too large.
  static Result<Regex> parse(std::string_view pattern);

  // Whether it matches anywhere in `text`.
  bool is_found_in(std::string_view text) const;
  // The longest run of bytes that all matches are seen to hold; may be empty.
  const std::string& key() const { return key_; }

 private:
  enum class Kind : uint8_t { kByte, kFork, kBegin, kEnd, kMatch };
  struct State {
    Kind kind;
    uint32_t next, other;  // kFork: both
    uint32_t set;          // kByte: of sets_
  };
  friend class RegexParser;

  // The states that are waited in before byte `at`, and where each state was last put among them.
  struct Front {
    std::vector<uint32_t> states;
    std::vector<size_t>& seen;
  };
  void follow(uint32_t state, size_t at, size_t size, Front& front) const;

  std::vector<State> states_;
  std::vector<std::bitset<256>> sets_;
  uint32_t first_ = 0;
  std::string key_;
};

}  // namespace ckpt
