#include "core/base/text_table.h"

#include "core/base/words.h"

namespace ckpt {

std::vector<std::vector<std::string_view>> table_rows(std::string_view text, size_t columns) {
  std::vector<std::vector<std::string_view>> out;
  while (!text.empty()) {
    std::string_view line = take_word(text, '\n');
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string_view>& row = out.emplace_back();
    while (row.size() < columns) {
      std::string_view cell = take_word(line, '|');
      cell.remove_prefix(std::min(cell.find_first_not_of(' '), cell.size()));
      row.push_back(cell.substr(0, cell.find_last_not_of(' ') + 1));
    }
  }
  return out;
}

}  // namespace ckpt
