// Fits tables to the width of the terminal. Texts wrap between words. A first cell that is too long
// gets a separate line. If the other columns still do not fit, each row is printed as a list.
//
//   tensor         shape     size        tensor
//   a.long.name                          a.long.name
//                  [12, 8]   192 bytes     shape [12, 8]  size 192 bytes
#include <algorithm>
#include <numeric>

#include "core/base/printable.h"
#include "core/base/words.h"
#include "tools/say/console.h"
#include "tools/say/width.h"

namespace ckpt {
namespace {

using Row = std::vector<std::string>;

constexpr size_t kIndent = 2;      // callers may indent a table by this
constexpr size_t kGap = 2;         // between columns
constexpr size_t kLeastFirst = 8;  // columns for the first cells
constexpr size_t kShort = 20;      // a column up to this width is not narrowed

size_t longest_word(std::string_view text) {
  size_t most = 0;
  for (const std::string_view word : split_words(text)) most = std::max(most, shown_width(word));
  return most;
}

std::vector<size_t> widths_of(const std::vector<Row>& rows, size_t (*width)(std::string_view)) {
  std::vector<size_t> out(rows[0].size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) out[i] = std::max(out[i], width(row[i]));
  }
  return out;
}

size_t row_width(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
}

// Narrows the widest column that is above its least width, until a row fits into `columns`.
void narrow(std::vector<size_t>& widths, const std::vector<size_t>& least, size_t columns) {
  for (size_t sum = row_width(widths); sum > columns; --sum) {
    size_t* widest = nullptr;
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] > least[i] && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

std::vector<std::string> lines_of(std::string_view cell, size_t width, size_t hang = 0) {
  const std::string text = wrapped(cell, width, hang);
  std::vector<std::string> out;
  for (std::string_view rest = text; !rest.empty();) out.emplace_back(take_word(rest, '\n'));
  return out;
}

// Appends a row. Each cell is wrapped to the width of its column.
void add_lines(Row row, const std::vector<size_t>& widths, const std::vector<bool>& flush_right,
               std::vector<std::string>& out) {
  if (longest_word(row[0]) > widths[0]) {
    for (const std::string& line : lines_of(row[0], row_width(widths))) out.push_back(line);
    row[0].clear();
  }
  std::vector<std::vector<std::string>> cells;
  size_t height = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    cells.push_back(lines_of(row[i], widths[i]));
    height = std::max(height, cells[i].size());
  }
  for (size_t at = 0; at < height; ++at) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string cell = at < cells[i].size() ? cells[i][at] : std::string();
      const std::string space(widths[i] - std::min(widths[i], shown_width(cell)), ' ');
      if (i > 0) line += std::string(kGap, ' ');
      line += flush_right[i] ? space + cell : cell + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) out.push_back(std::move(line));
  }
}

void add_list(const Row& heading, const Row& row, size_t columns, std::vector<std::string>& out) {
  std::string text;
  for (size_t i = 1; i < row.size(); ++i) {
    if (!row[i].empty()) text += fmt::format("  {} {}", heading[i], row[i]);
  }
  out.push_back(row[0]);
  for (const std::string& line : lines_of(text, columns, kIndent)) out.push_back(line);
}

}  // namespace

void Table::add(Row row) {
  for (std::string& cell : row) cell = printable(cell);
  rows_.push_back(std::move(row));
}

std::vector<std::string> Table::lines(std::vector<bool> flush_right,
                                      std::optional<size_t> columns) const {
  std::vector<size_t> widths = widths_of(rows_, shown_width);
  flush_right.resize(widths.size());
  if (!columns) columns = terminal_columns();
  const size_t most = columns ? std::max(*columns, kIndent + 1) - kIndent : row_width(widths);
  std::vector<size_t> least = widths_of(rows_, longest_word);
  for (size_t i = 0; i < least.size(); ++i) {
    if (flush_right[i] || widths[i] <= kShort) least[i] = widths[i];
  }
  narrow(widths, least, most);
  least[0] = std::min(least[0], kLeastFirst);
  narrow(widths, least, most);
  std::vector<std::string> out;
  for (const Row& row : rows_) {
    if (row_width(widths) <= most) add_lines(row, widths, flush_right, out);
    if (row_width(widths) > most && &row != &rows_[0]) add_list(rows_[0], row, most, out);
  }
  return out;
}

}  // namespace ckpt
