// Quotes and unquotes JSON strings, and parses scalars.
//
// Two writers differ: serde_json (safetensors headers) only escapes quotes, backslashes and control
// characters; Python's json.dumps (index files) writes ASCII only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ckpt {

// Objects are sorted by key: the order of fields never affects the result, and a vocabulary of
// 250,000 entries needs a fast lookup.
using JsonValue = nlohmann::json;

enum class JsonEscape { kSerde, kPython };

// Appends `text` as a JSON string, with its quotes. U+FFFD replaces bytes that are not UTF-8.
void append_json_text(std::string& out, std::string_view text, JsonEscape style);
std::string json_quoted(std::string_view text, JsonEscape style);

// Returns the text of a quoted string. Requires: the reader accepts it.
std::string json_unquoted(std::string_view spelling);

// Returns the value of one scalar as the reader spells it: numbers without fraction or exponent are
// integers if they fit 64 bits; all others are doubles, infinite if they are too large.
JsonValue json_scalar(std::string_view spelling);

}  // namespace ckpt
