#include "core/json/json_string.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "core/base/utf8.h"

namespace ckpt {
namespace {

constexpr std::string_view kEscaped = "\"\\/\b\f\n\r\t", kLetters = "\"\\/bfnrt";

void append_u_escape(std::string& out, uint32_t unit) {
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", unit);
}

void append_ascii_only(std::string& out, uint32_t code) {
  if (code < 0x10000) return append_u_escape(out, code);
  const uint32_t rest = code - 0x10000;
  append_u_escape(out, 0xD800 + (rest >> 10));
  append_u_escape(out, 0xDC00 + (rest & 0x3FF));
}

void append_character(std::string& out, const Utf8Character& one, std::string_view bytes,
                      JsonEscape style) {
  const size_t letter = one.code < 0x80 && one.code != '/'
                            ? kEscaped.find(static_cast<char>(one.code))
                            : std::string_view::npos;
  if (!one.is_valid) {
    out += style == JsonEscape::kPython ? "\\ufffd" : "\xef\xbf\xbd";
  } else if (letter != std::string_view::npos) {
    out += {'\\', kLetters[letter]};
  } else if (one.code < 0x20) {
    append_u_escape(out, one.code);
  } else if (style == JsonEscape::kPython && one.code >= 0x7F) {
    append_ascii_only(out, one.code);
  } else {
    out += bytes;
  }
}

uint32_t unit_of(std::string_view digits) {
  uint32_t unit = 0;
  std::from_chars(digits.data(), digits.data() + 4, unit, 16);
  return unit;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

// Appends the character of the escape at the start of `text`; returns the escape's size.
size_t append_unescaped(std::string& out, std::string_view text) {
  if (text[1] != 'u') {
    out += kEscaped[kLetters.find(text[1])];
    return 2;
  }
  const uint32_t unit = unit_of(text.substr(2));
  if (unit < 0xD800 || unit > 0xDFFF) {
    append_utf8(out, unit);
    return 6;
  }
  append_utf8(out, 0x10000 + ((unit - 0xD800) << 10) + (unit_of(text.substr(8)) - 0xDC00));
  return 12;
}

JsonValue number_value(std::string_view spelling) {
  const char* end = spelling.data() + spelling.size();
  const auto whole_as = [&](auto value) {
    const auto read = std::from_chars(spelling.data(), end, value);
    return read.ec == std::errc() && read.ptr == end ? JsonValue(value) : JsonValue();
  };
  JsonValue out = spelling[0] == '-' ? whole_as(int64_t{}) : whole_as(uint64_t{});
  if (!out.is_null()) return out;
  double value = 0;
  const auto read = std::from_chars(spelling.data(), end, value);
  if (read.ec == std::errc::result_out_of_range) {  // `value` was not changed
    value = std::strtod(std::string(spelling).c_str(), nullptr);
  }
  return value;
}

}  // namespace

void append_json_text(std::string& out, std::string_view text, JsonEscape style) {
  out += '"';
  while (!text.empty()) {
    const Utf8Character one = first_character(text);
    append_character(out, one, text.substr(0, one.size_bytes), style);
    text.remove_prefix(one.size_bytes);
  }
  out += '"';
}

std::string json_quoted(std::string_view text, JsonEscape style) {
  std::string out;
  append_json_text(out, text, style);
  return out;
}

std::string json_unquoted(std::string_view spelling) {
  std::string_view text = spelling.substr(1, spelling.size() - 2);
  std::string out;
  out.reserve(text.size());
  while (true) {
    const size_t plain = std::min(text.find('\\'), text.size());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return out;
    text.remove_prefix(append_unescaped(out, text));
  }
}

JsonValue json_scalar(std::string_view spelling) {
  switch (spelling[0]) {
    case '"': return json_unquoted(spelling);
    case 'n': return nullptr;
    case 't': return true;
    case 'f': return false;
    case 'N': return std::numeric_limits<double>::quiet_NaN();
    case 'I': return std::numeric_limits<double>::infinity();
    default:
      if (spelling == "-Infinity") return -std::numeric_limits<double>::infinity();
      return number_value(spelling);
  }
}

}  // namespace ckpt
