#include "transforms/gguf_general_yaml_text.h"

namespace ckpt {
namespace {

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 63));
    out += static_cast<char>(0x80 | (code & 63));
  } else {
    out += static_cast<char>(0xF0 | ((code >> 18) & 7));
    out += static_cast<char>(0x80 | ((code >> 12) & 63));
    out += static_cast<char>(0x80 | ((code >> 6) & 63));
    out += static_cast<char>(0x80 | (code & 63));
  }
}

// Takes the escape at `at`, behind the backslash, and moves `at` to its last character.
void append_escape(std::string& out, std::string_view text, size_t& at) {
  constexpr std::string_view kLetters = "nt\"\\/r0abefv ";
  constexpr std::string_view kValues("\n\t\"\\/\r\0\a\b\x1b\f\v ", 13);
  const char c = text[at];
  const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits == 0 || at + digits >= text.size()) {
    const size_t known_letter = kLetters.find(c);
    out += known_letter == std::string_view::npos ? c : kValues[known_letter];
    return;
  }
  uint32_t code = 0;
  for (size_t i = 1; i <= digits; ++i) {
    const char d = text[at + i];
    const size_t value = std::string_view("0123456789abcdef").find(static_cast<char>(d | 32));
    code = code * 16 + static_cast<uint32_t>(value == std::string_view::npos ? 0 : value);
  }
  append_utf8(out, code);
  at += digits;
}

}  // namespace

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \r") == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \r") - first + 1);
}

bool find_closing_quote(std::string_view text, size_t& at) {
  const char quote = text[0];
  for (; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      const bool is_doubled = quote == '\'' && at + 1 < text.size() && text[at + 1] == '\'';
      if (!is_doubled) return true;
      ++at;
    }
  }
  return false;
}

size_t closing_quote(std::string_view text) {
  size_t at = 1;
  return find_closing_quote(text, at) ? at : std::string_view::npos;
}

std::string_view without_comment(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#' && (i == 0 || text[i - 1] == ' ')) return trimmed(text.substr(0, i));
  }
  return trimmed(text);
}

std::string unquoted(std::string_view text) {
  const char quote = text[0];
  const std::string_view inner = text.substr(1, text.size() - 2);
  std::string out;
  for (size_t i = 0; i < inner.size(); ++i) {
    if (quote == '\'' && inner[i] == '\'') ++i;
    if (quote == '"' && inner[i] == '\\' && i + 1 < inner.size()) {
      ++i;
      append_escape(out, inner, i);
    } else if (i < inner.size()) {
      out += inner[i];
    }
  }
  return out;
}

JsonValue plain_scalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return nullptr;
  return std::string(text);
}

size_t key_end(std::string_view text) {
  size_t i = 0;
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
    i = closing_quote(text);
    if (i == std::string_view::npos) return i;
    ++i;
  } else if (!text.empty() && (text[0] == '[' || text[0] == '{')) {
    return std::string_view::npos;
  }
  for (; i < text.size(); ++i) {
    if (text[i] == '#' && i > 0 && text[i - 1] == ' ') break;
    if (text[i] == ':' && (i + 1 == text.size() || text[i + 1] == ' ')) return i;
  }
  return std::string_view::npos;
}

}  // namespace ckpt
