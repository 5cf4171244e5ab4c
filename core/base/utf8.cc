#include "core/base/utf8.h"

namespace ckpt {
namespace {

// The range of a character's second byte, which depends on the first.
struct SecondByte {
  uint8_t low = 0x80, high = 0xBF;
};
SecondByte second_byte(uint8_t lead) {
  if (lead == 0xE0) return {0xA0, 0xBF};
  if (lead == 0xED) return {0x80, 0x9F};
  if (lead == 0xF0) return {0x90, 0xBF};
  if (lead == 0xF4) return {0x80, 0x8F};
  return {};
}

bool continues(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

}  // namespace

Utf8Character first_character(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {1, lead, true};
  if (lead < 0xC2 || lead > 0xF4) return {1, lead, false};
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  uint32_t code = lead & (0x7Fu >> size);
  SecondByte range = second_byte(lead);
  for (size_t i = 1; i < size; ++i) {
    const auto byte = i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
    if (byte < range.low || byte > range.high) return {i, lead, false};
    code = code << 6 | (byte & 0x3Fu);
    range = {};
  }
  return {size, code, true};
}

size_t utf8_size(std::string_view text) {
  if (text.empty()) return 0;
  const Utf8Character first = first_character(text);
  return first.is_valid ? first.size_bytes : 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = utf8_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string as_utf8(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const Utf8Character first = first_character(bytes);
    out += first.is_valid ? bytes.substr(0, first.size_bytes) : "\xef\xbf\xbd";
    bytes.remove_prefix(first.size_bytes);
  }
  return out;
}

std::string shorten(std::string_view text, size_t size_bytes) {
  if (text.size() <= size_bytes) return std::string(text);
  while (size_bytes > 0 && continues(text[size_bytes])) --size_bytes;
  return std::string(text.substr(0, size_bytes)) + "...";
}

}  // namespace ckpt
