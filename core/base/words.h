// Small functions on texts, and on words and numbers of a line that are separated by one space.
#pragma once

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

// Removes the first word of `line` and the mark after it, and returns the word; empty at the end.
inline std::string_view take_word(std::string_view& line, char mark = ' ') {
  const size_t end = std::min(line.find(mark), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(line.size(), end + 1));
  return word;
}

// The same for a number; false if the word is not a number.
template <class T>
bool take_number(std::string_view& line, T& number, int base = 10) {
  const std::string_view word = take_word(line);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

// All words of `list`.
template <class Text = std::string_view>
std::vector<Text> split_words(std::string_view list) {
  std::vector<Text> out;
  while (!list.empty()) {
    if (const std::string_view word = take_word(list); !word.empty()) out.emplace_back(word);
  }
  return out;
}

// True when `list`, words between spaces, contains `word`.
bool has_word(std::string_view list, std::string_view word);
bool ends_with_any(std::string_view text, std::span<const std::string_view> endings);
// Whether the name of a file ends in `ending`, in letters of either case, behind something else:
// "M.GGUF" does in ".gguf". Outputs of ckpt have small letters.
bool has_ending(std::string_view path, std::string_view ending);
// Expands lists in braces: "a.{b,c}" gives "a.b" and "a.c"; "{}" stays as it is.
std::vector<std::string> each_name(std::string_view pattern);
// Only ASCII letters change.
std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);
// `text` with `to` in the place of each `from`, which is not empty.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace ckpt
