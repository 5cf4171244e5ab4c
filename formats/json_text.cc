#include "formats/json_text.h"

#include "core/json/json_fault.h"
#include "core/json/json_read.h"

namespace ckpt {
namespace {

// Length of the well-formed UTF-8 sequence at the front of `text`, 0 when there is none; its
// code point in `code`.
size_t decode_utf8(std::string_view text, uint32_t& code) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t head = byte(0);
  if (head < 0x80) {
    code = head;
    return 1;
  }
  const size_t length = head >= 0xF0 ? 4 : head >= 0xE0 ? 3 : 2;
  if (head < 0xC2 || head > 0xF4 || text.size() < length) return 0;
  code = head & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kSmallest[length] || code > 0x10FFFF || surrogate ? 0 : length;
}

void append_u_escape(std::string& out, uint32_t unit) {
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", unit);
}

void append_ascii_only(std::string& out, uint32_t code) {
  if (code < 0x10000) return append_u_escape(out, code);
  const uint32_t rest = code - 0x10000;
  append_u_escape(out, 0xD800 + (rest >> 10));
  append_u_escape(out, 0xDC00 + (rest & 0x3FF));
}

const char* short_escape(uint32_t code) {
  switch (code) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return nullptr;
  }
}

}  // namespace

bool is_utf8(std::string_view text) {
  uint32_t code = 0;
  while (!text.empty()) {
    const size_t length = decode_utf8(text, code);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void append_json_text(std::string& out, std::string_view text, JsonEscape style) {
  out += '"';
  uint32_t code = 0;
  while (!text.empty()) {
    const size_t length = decode_utf8(text, code);
    CKPT_CHECK(length != 0);
    if (const char* escape = short_escape(code)) {
      out += escape;
    } else if (code < 0x20) {
      append_u_escape(out, code);
    } else if (style == JsonEscape::kPython && code >= 0x7F) {
      append_ascii_only(out, code);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

std::string JsonEvents::shorten(std::string_view text) {
  constexpr size_t kShown = 80;
  if (text.size() <= kShown) return std::string(text);
  size_t end = kShown;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

Status JsonEvents::run(std::string_view text, std::optional<uint64_t> start_byte) {
  const bool is_foreign = find_foreign_byte(text).has_value();
  if (!is_foreign && nlohmann::json::sax_parse(text.begin(), text.end(), this)) return {};
  if (!reason_.empty()) return fail(ErrorCode::kCorrupt, "{}", reason_);
  const size_t last = stopped_at_ == 0 ? 0 : stopped_at_ - 1;
  return start_byte ? not_json_at_byte(text, *start_byte, last) : not_json(text);
}

}  // namespace ckpt
