#include "tools/say/width.h"

#include <sys/ioctl.h>

#include <algorithm>

namespace ckpt {

std::optional<size_t> terminal_columns(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

size_t shown_width(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & '\xC0') != '\x80'; }));
}

std::string cut_to(std::string_view text, size_t width) {
  if (shown_width(text) <= width || width == 0) return std::string(text);
  size_t end = 0;
  for (size_t shown = 0; end < text.size(); ++end) {
    const bool starts = (text[end] & '\xC0') != '\x80';
    if (starts && ++shown == width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string wrapped(std::string_view text, size_t width, std::string_view indent) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const bool fits = column == 0 || column + 1 + shown_width(word) <= width;
    if (!fits) {
      out += "\n";
      out += indent;
      column = 0;
    }
    if (column > 0) out += ' ';
    out += word;
    column += shown_width(word) + (column > 0 ? 1 : 0);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace ckpt
