// UTF-8: the shortest form only, no surrogates, nothing above U+10FFFF (Unicode table 3-7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ckpt {

struct Utf8Character {
  size_t size_bytes;  // if not well-formed: of the longest run that could begin a character
  uint32_t code;      // if not well-formed: the first byte
  bool is_valid;
};
// The character at the front of `text`. Requires: `text` is not empty.
Utf8Character first_character(std::string_view text);

// Bytes of the character at the front of `text`; 0 when it is not well-formed, or `text` is empty.
size_t utf8_size(std::string_view text);
bool is_utf8(std::string_view text);
// `bytes` with U+FFFD for each run that is not a complete character, as Python's
// decode(errors="replace").
std::string as_utf8(std::string_view bytes);
// At most `size_bytes` of `text`, cut between characters, with "..." where something was cut off.
std::string shorten(std::string_view text, size_t size_bytes = 80);

}  // namespace ckpt
