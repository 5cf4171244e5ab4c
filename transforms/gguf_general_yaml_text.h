// The words of YAML: scalars, quotes, keys, comments; private to gguf_general_yaml.cc.
//
// What a reader would get wrong: "#" begins a comment only behind a space, ":" ends a key only
// before one.
#pragma once

#include <string>
#include <string_view>

#include "core/json_read.h"

namespace ckpt {

bool is_blank(std::string_view text);
// Without spaces and carriage returns at both ends.
std::string_view trimmed(std::string_view text);
// Position of the closing quote of a text that begins with one; npos when it is open.
size_t closing_quote(std::string_view text);
// The same for a text that grows: true when `at` (1 at first) came to the closing quote; else `at`
// is where to go on when there is more.
bool find_closing_quote(std::string_view text, size_t& at);
// Cuts a comment off a plain text, and what spaces are then at its ends.
std::string_view without_comment(std::string_view text);
// What stands between the quotes at both ends, escapes replaced.
std::string unquoted(std::string_view text);
// A text, or null for nothing, "~" and "null".
JsonValue plain_scalar(std::string_view text);
// Position of the ":" that ends a key; npos when the text is no key.
size_t key_end(std::string_view text);

}  // namespace ckpt
