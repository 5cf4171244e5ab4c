// Small questions about texts; words and numbers of a line, with one space between two.
#pragma once

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>

namespace ckpt {

// Takes the first word off `line`, with the space behind it. Empty: none is left.
inline std::string_view take_word(std::string_view& line) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, space);
  line.remove_prefix(std::min(line.size(), space + 1));
  return word;
}

// The same for a number; false where the word is none.
template <class T>
bool take_number(std::string_view& line, T& number, int base = 10) {
  const std::string_view word = take_word(line);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

// True when `list`, words between spaces, contains `word`.
bool has_word(std::string_view list, std::string_view word);
bool ends_with_any(std::string_view text, std::span<const std::string_view> endings);
// ASCII letters alone change.
std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);

}  // namespace ckpt
