// Where a text stops being JSON, for messages. Only looked for when a parser has refused it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ckpt {

// What JSON allows between its words.
inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

struct JsonFault {
  size_t at = 0;              // byte of the text; its size when the text ends too early
  std::string_view expected;  // what JSON allows there
};

// The first fault of `text` as parse_json sees it (NaN and Infinity are values); nullopt when there
// is none. Memory: a byte for each bracket that is open.
std::optional<JsonFault> find_json_fault(std::string_view text);

// "line 3, column 14" of byte `at`, both counted from 1, columns in characters.
std::string line_and_column(std::string_view text, size_t at);

// kCorrupt: "not valid JSON at line 3, column 14: '}'; expected a value", or that it is truncated.
// `piece`: what was refused; `text`: the file that it is a view into, whose lines are counted.
Failure not_json(std::string_view piece, std::string_view text);
inline Failure not_json(std::string_view text) { return not_json(text, text); }

// The same for JSON inside a binary file, where `start_byte` is the place of its first byte in the
// file. `stopped_at`: where the parser stopped, for what only that parser refuses.
Failure not_json_at_byte(std::string_view text, uint64_t start_byte, size_t stopped_at);

}  // namespace ckpt
