#include "core/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace ckpt {
namespace {

// The first character of a text.
struct Character {
  size_t size_bytes;
  uint32_t code;
  bool is_valid;  // well-formed UTF-8; else size_bytes is 1
};

// Shortest form only, no surrogates, nothing above U+10FFFF.
Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {1, lead, true};
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {1, lead, false};
  uint32_t code = lead & (0x7F >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {1, lead, false};
    code = code << 6 | (byte(i) & 0x3F);
  }
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_valid =
      code >= kLeast[size] && code <= 0x10FFFF && !(0xD800 <= code && code <= 0xDFFF);
  return is_valid ? Character{size, code, true} : Character{1, lead, false};
}

bool is_hidden(uint32_t code) {
  struct Range {
    uint32_t first, last;
  };
  static constexpr Range kHidden[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C},
                                      {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [&](const Range& range) { return range.first <= code && code <= range.last; });
}

bool is_shown(const Character& one) { return one.is_valid && !is_hidden(one.code); }

// Appends a character that is not shown, as C and Python write it.
void append_escaped(std::string& out, const Character& one) {
  if (one.is_valid && one.code >= 0x80) {
    out += fmt::format("\\u{:04x}", one.code);
    return;
  }
  const size_t letter = std::string_view("\n\r\t").find(static_cast<char>(one.code));
  out += letter == std::string_view::npos ? fmt::format("\\x{:02x}", one.code)
                                          : std::string{'\\', "nrt"[letter]};
}

// Runs of what is shown stay; `escape(out, character, bytes)` writes the rest.
template <class Escape>
std::string rewritten(std::string_view text, const Escape& escape) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Character one = first_of(text.substr(at));
    const std::string_view bytes = text.substr(at, one.size_bytes);
    if (is_shown(one)) {
      out += bytes;
    } else {
      escape(out, one, bytes);
    }
    at += one.size_bytes;
  }
  return out;
}

}  // namespace

size_t utf8_size(std::string_view text) {
  if (text.empty()) return 0;
  const Character first = first_of(text);
  return first.is_valid ? first.size_bytes : 0;
}

std::string printable(std::string_view text) {
  return rewritten(text, [](std::string& out, const Character& one, std::string_view) {
    append_escaped(out, one);
  });
}

std::string printable_json(std::string_view json) {
  return rewritten(json, [](std::string& out, const Character& one, std::string_view) {
    out += fmt::format("\\u{:04x}", one.code);
  });
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:@,";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return std::string(text);
  if (printable(text) == text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }
  // Bytes, because \u means another byte sequence in another locale.
  const auto escape = [](std::string& out, const Character&, std::string_view bytes) {
    for (const char c : bytes) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  };
  std::string quoted;
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return "$'" + rewritten(quoted, escape) + "'";
}

}  // namespace ckpt
