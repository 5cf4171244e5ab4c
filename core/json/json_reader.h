// The only JSON reader: scans a text and reports its items in order.
//
//   {"a": [1, NaN]}   ──▶   open '{'  key "a"  open '['  scalar 1  scalar NaN  close  close
//
// It accepts what Python's json accepts, including NaN, Infinity, -Infinity and numbers of any
// size. It does not recurse, and a level of nesting takes a few bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace ckpt {

inline constexpr uint32_t kMaxJsonDepth = 128;  // nested brackets

// Receives the events. Spellings are views into the text. A function that returns false ends the
// run.
class JsonSink {
 public:
  virtual ~JsonSink() = default;
  // Receives a string with its quotes, a number, null, true, false, NaN, Infinity or -Infinity.
  virtual bool scalar(std::string_view spelling) = 0;
  virtual bool key(std::string_view spelling) = 0;  // with its quotes
  // `bracket` is '{' or '['; at_byte is its position, end_byte the one after the closing bracket.
  virtual bool open(char bracket, size_t at_byte) = 0;
  virtual bool close(size_t end_byte) = 0;
};

struct JsonFault {
  size_t at = 0;                        // byte in the text; its size if the text ends too early
  std::string_view expected;            // what JSON allows here
  bool is_nested_deeper = false;        // nested deeper than kMaxJsonDepth
  std::string_view key_set_twice = {};  // with quotes: the key that an object repeats at `at`
  size_t set_first_at = 0;
};

// Returns the first error in `text`; nullopt if there is none, or if `sink`, which may be null,
// ended the run before it. A duplicate key is reported only if the text has no other error, and
// `sink` has then received everything: JSON allows it, and most programs use the last value.
std::optional<JsonFault> read_json_events(std::string_view text, JsonSink* sink);

// Returns "line 3, column 14" for byte `at`, both counted from 1, columns in characters.
std::string line_and_column(std::string_view text, size_t at);

// The error kCorrupt: "not valid JSON at line 3, column 14: '}'; expected a value", or that the
// text is truncated, nested too deeply or has a duplicate key. `fault` is in `piece`, a view into
// the file `text`, whose lines are counted.
Failure not_json(const JsonFault& fault, std::string_view piece, std::string_view text);
inline Failure not_json(const JsonFault& fault, std::string_view text) {
  return not_json(fault, text, text);
}
// Fails as not_json(). With `set_twice`, the failure for a duplicate key is stored there instead.
Status json_status(const std::optional<JsonFault>& fault, std::string_view text, Status* set_twice);
// Does the same for JSON in a binary file, whose first byte is at `start_byte`.
Failure not_json_at_byte(const JsonFault& fault, std::string_view text, uint64_t start_byte);

// Whether JSON allows the character as white space between tokens.
inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace ckpt
