// Small functions on texts, words of a line and names.
#pragma once

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

// Removes the first word of `line` and the mark after it. Returns the word; empty at the end.
inline std::string_view take_word(std::string_view& line, char mark = ' ') {
  const size_t end = std::min(line.find(mark), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(line.size(), end + 1));
  return word;
}

// Does the same for a number. Returns false if the word is not a number.
template <class T>
bool take_number(std::string_view& line, T& number, int base = 10) {
  const std::string_view word = take_word(line);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

// Splits `list` into its words.
template <class Text = std::string_view>
std::vector<Text> split_words(std::string_view list) {
  std::vector<Text> out;
  while (!list.empty()) {
    if (const std::string_view word = take_word(list); !word.empty()) out.emplace_back(word);
  }
  return out;
}

// Whether `list`, words separated by spaces, contains `word`.
bool has_word(std::string_view list, std::string_view word);
bool ends_with_any(std::string_view text, std::span<const std::string_view> endings);
// Whether a file name ends in `ending`, in upper or lower case, and does not consist of it:
// "M.GGUF" ends in ".gguf". Outputs of ckpt use lower case.
bool has_ending(std::string_view path, std::string_view ending);
// Expands lists in braces: "a.{b,c}" gives "a.b" and "a.c". "{}" is unchanged.
std::vector<std::string> each_name(std::string_view pattern);
// Only change ASCII letters.
std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);
// Replaces each `from`, which must not be empty, in `text` by `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace ckpt
