// Words and numbers of a line of text, as ledgers and journals have them: one space between two.
#pragma once

#include <algorithm>
#include <charconv>
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

}  // namespace ckpt
