#include "core/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/base/utf8.h"

namespace ckpt {
namespace {

bool is_hidden(uint32_t code) {
  struct Range {
    uint32_t first, last;
  };
  static constexpr Range kHidden[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C},
                                      {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};
  return std::ranges::any_of(
      kHidden, [&](const Range& range) { return range.first <= code && code <= range.last; });
}

bool is_shown(const Utf8Character& one) { return one.is_valid && !is_hidden(one.code); }

// Appends an escape in the notation of C and Python.
void append_escaped(std::string& out, const Utf8Character& one) {
  if (one.is_valid && one.code >= 0x80) {
    out += fmt::format("\\u{:04x}", one.code);
    return;
  }
  const size_t letter = std::string_view("\n\r\t").find(static_cast<char>(one.code));
  out += letter == std::string_view::npos ? fmt::format("\\x{:02x}", one.code)
                                          : std::string{'\\', "nrt"[letter]};
}

// Copies printable runs. `escape(out, character, bytes)` writes the rest.
template <class Escape>
std::string rewritten(std::string_view text, const Escape& escape) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Character one = first_character(text.substr(at));
    const std::string_view bytes = text.substr(at, one.is_valid ? one.size_bytes : 1);
    if (is_shown(one)) {
      out += bytes;
    } else {
      escape(out, one, bytes);
    }
    at += bytes.size();
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return rewritten(text, [](std::string& out, const Utf8Character& one, std::string_view) {
    append_escaped(out, one);
  });
}

std::string printable_json(std::string_view json) {
  return rewritten(json, [](std::string& out, const Utf8Character& one, std::string_view) {
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
  // Escapes bytes, because \u depends on the locale.
  const auto escape = [](std::string& out, const Utf8Character&, std::string_view bytes) {
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

std::string shell_path(std::string_view path) {
  return shell_word(path.starts_with('-') ? fmt::format("./{}", path) : std::string(path));
}

}  // namespace ckpt
