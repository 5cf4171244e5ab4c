#include "tools/say/width.h"

#include <sys/ioctl.h>

#include <algorithm>

#include "core/base/utf8.h"

namespace ckpt {
namespace {

// Ranges of code points. Those in kWide take two columns (East Asian wide and fullwidth, emoji).
// Those in kMarks take none, because they combine with the character before.
struct CodePoints {
  uint32_t first, last;
};
constexpr CodePoints kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                                {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
                                {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},
                                {0x1B000, 0x1B2FF}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
                                {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr CodePoints kMarks[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F}, {0x0E34, 0x0E3A},
    {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D}, {0x20D0, 0x20FF},
    {0x302A, 0x302D}, {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF}};

template <size_t kCount>
bool is_among(const CodePoints (&ranges)[kCount], uint32_t code) {
  return std::ranges::any_of(
      ranges, [&](CodePoints range) { return code >= range.first && code <= range.last; });
}

// One character, or one escape sequence that sets a color.
struct Glyph {
  size_t size_bytes, columns;
};
Glyph first_glyph(std::string_view text) {
  if (text[0] == '\x1b') return {std::min(text.find('m'), text.size() - 1) + 1, 0};
  const Utf8Character character = first_character(text);
  if (!character.is_valid) return {character.size_bytes, 1};
  const uint32_t code = character.code;
  const size_t columns = is_among(kMarks, code) ? 0 : is_among(kWide, code) ? 2 : 1;
  return {character.size_bytes, columns};
}

// Counts the bytes of the first word. In a command, spaces within quotes are part of the word.
size_t word_size(std::string_view text, bool is_command) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\n')) return i;
    if (is_command && (c == '\'' || c == '"') && (quote == 0 || quote == c)) {
      quote = quote == 0 ? c : 0;
    }
  }
  return quote == 0 || !is_command ? text.size() : word_size(text, false);
}

}  // namespace

std::optional<size_t> terminal_columns(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

size_t shown_width(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.size_bytes);
  }
  return columns;
}

std::string cut_to(std::string_view text, size_t width) {
  if (shown_width(text) <= width || width == 0) return std::string(text);
  size_t end = 0;
  for (size_t columns = 0; end < text.size();) {
    const Glyph glyph = first_glyph(text.substr(end));
    if ((columns += glyph.columns) >= width) break;
    end += glyph.size_bytes;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string wrapped(std::string_view text, size_t width, size_t hang) {
  std::string out;
  size_t column = 0;
  bool is_first = true, is_command = false, is_after_colon = false;
  while (!text.empty()) {
    if (text[0] == '\n') {
      out += '\n';
      text.remove_prefix(1);
      column = 0;
      is_first = true;
      is_command = is_after_colon = false;
      continue;
    }
    const size_t spaces = std::min(text.find_first_not_of(' '), text.size());
    const std::string_view rest = text.substr(spaces);
    const std::string_view word = rest.substr(0, word_size(rest, is_command));
    const bool is_last = word.size() == rest.size() || rest[word.size()] == '\n';
    const size_t end = column + spaces + shown_width(word) + (is_command && !is_last ? 2 : 0);
    if (is_first || end <= width) {
      out += text.substr(0, spaces + word.size());
      column += spaces + shown_width(word);
    } else {
      out += is_command ? " \\\n" : "\n";
      out += std::string(hang, ' ');
      out += word;
      column = hang + shown_width(word);
    }
    is_command = is_command || (word == "ckpt" && (is_after_colon || spaces > 1));
    is_after_colon = word.ends_with(':');
    is_first = false;
    text.remove_prefix(spaces + word.size());
  }
  return out;
}

}  // namespace ckpt
