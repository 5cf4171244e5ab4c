#include "core/transform.h"

#include <cstddef>

namespace ckpt {
namespace {

// One element of a pattern ("*" excepted) held against one character.
struct Step {
  bool matches;
  size_t size;  // characters of the pattern it took
};

// "[abc]", "[a-z]", "[!abc]"; a "]" right after the opening is a member. A "[" that is never closed
// stands for itself.
Step match_set(std::string_view pattern, char c) {
  size_t i = 1;
  const bool negated = i < pattern.size() && pattern[i] == '!';
  if (negated) ++i;
  const size_t first = i;
  bool found = false;
  while (i < pattern.size() && (pattern[i] != ']' || i == first)) {
    const bool range = i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']';
    const char last = range ? pattern[i + 2] : pattern[i];
    found = found || (pattern[i] <= c && c <= last);
    i += range ? 3 : 1;
  }
  if (i >= pattern.size()) return {c == '[', 1};
  return {found != negated, i + 1};
}

Step match_one(std::string_view pattern, char c) {
  if (pattern.front() == '?') return {true, 1};
  if (pattern.front() == '[') return match_set(pattern, c);
  return {pattern.front() == c, 1};
}

}  // namespace

std::optional<std::string> Options::get(std::string_view key) const {
  std::optional<std::string> out;
  for (const auto& [name, value] : pairs_) {
    if (name == key) out = value;
  }
  return out;
}

std::vector<std::string> Options::all(std::string_view key) const {
  std::vector<std::string> out;
  for (const auto& [name, value] : pairs_) {
    if (name == key) out.push_back(value);
  }
  return out;
}

bool Options::yes(std::string_view key, bool otherwise) const {
  const auto value = get(key);
  if (!value) return otherwise;
  return *value == "yes" || *value == "true" || *value == "1";
}

bool glob_matches(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  // Only the last star ever needs another try: whatever an earlier one could take, this one can.
  size_t star = std::string_view::npos;
  size_t star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
      continue;
    }
    const Step step = p < pattern.size() ? match_one(pattern.substr(p), name[n]) : Step{false, 0};
    if (step.matches) {
      p += step.size;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace ckpt
