// Parses UTF-8: only the shortest form, no surrogates, nothing above U+10FFFF (Unicode table 3-7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ckpt {

struct Utf8Character {
  size_t size_bytes;  // if not well-formed: size of the longest possible beginning
  uint32_t code;      // if not well-formed: the first byte
  bool is_valid;
};
// Returns the character at the start of `text`. Requires: `text` is not empty.
Utf8Character first_character(std::string_view text);

// The size of the character at the start of `text`; 0 if it is not well-formed or `text` is empty.
size_t utf8_size(std::string_view text);
bool is_utf8(std::string_view text);
// Replaces each run of `bytes` that is not a complete character by U+FFFD, as Python's
// decode(errors="replace") does.
std::string as_utf8(std::string_view bytes);
// Shortens `text` to at most `size_bytes`, between characters, with "..." if something was cut off.
std::string shorten(std::string_view text, size_t size_bytes = 80);

}  // namespace ckpt
