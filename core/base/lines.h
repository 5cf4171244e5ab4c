// Splits a text into lines, and trims white space.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace ckpt {

// Removes the first line of `text` with its line end, and returns it without the end.
inline std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Splits the lines of `text` that are neither empty nor comments ("#") into `columns` cells at "|".
// Missing cells are empty.
inline std::vector<std::vector<std::string_view>> table_rows(std::string_view text,
                                                             size_t columns) {
  std::vector<std::vector<std::string_view>> out;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string_view>& row = out.emplace_back();
    while (row.size() < columns) {
      const std::string_view cell = line.substr(0, line.find('|'));
      row.push_back(trimmed(cell));
      line.remove_prefix(std::min(line.size(), cell.size() + 1));
    }
  }
  return out;
}

}  // namespace ckpt
