// JSON strings, quoted and unquoted.
//
// Two writers differ: serde_json (safetensors headers) leaves everything but quotes, backslashes
// and control characters as it is; Python's json.dumps (index files) writes ASCII only.
#pragma once

#include <string>
#include <string_view>

namespace ckpt {

enum class JsonEscape { kSerde, kPython };

// Appends `text` as a JSON string, with its quotes. U+FFFD stands for what is not UTF-8.
void append_json_text(std::string& out, std::string_view text, JsonEscape style);
std::string json_quoted(std::string_view text, JsonEscape style);

// The text of a quoted string. Requires: the reader accepts it.
std::string json_unquoted(std::string_view spelling);

}  // namespace ckpt
