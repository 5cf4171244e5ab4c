// The only reader of JSON: runs over a text and reports its items in order.
//
//   {"a": [1, NaN]}   ──▶   open '{'  key "a"  open '['  scalar 1  scalar NaN  close  close
//
// It accepts what Python's json accepts: also NaN, Infinity, -Infinity, and numbers of any size. It
// never recurses, and a level of nesting takes a few bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace ckpt {

inline constexpr uint32_t kMaxJsonDepth = 128;  // brackets inside each other

// Receives the events. Spellings are views into the text; a function that returns false ends the
// run.
class JsonSink {
 public:
  virtual ~JsonSink() = default;
  // A string with its quotes, a number, null, true, false, NaN, Infinity or -Infinity.
  virtual bool scalar(std::string_view spelling) = 0;
  virtual bool key(std::string_view spelling) = 0;  // with its quotes
  // '{' or '[', and its position; for close, the position after the bracket.
  virtual bool open(char bracket, size_t at_byte) = 0;
  virtual bool close(size_t end_byte) = 0;
};

struct JsonFault {
  size_t at = 0;                        // byte of the text; its size when the text ends too early
  std::string_view expected;            // what JSON allows there
  bool is_nested_deeper = false;        // than kMaxJsonDepth
  std::string_view key_set_twice = {};  // with its quotes: an object sets it at `at` again
  size_t set_first_at = 0;
};

// The first error in `text`; nullopt if there is none, or if `sink` ended the run before it. `sink`
// may be null. A key that an object sets twice is reported only if the text has no other error, and
// `sink` has then received everything: JSON allows it, and most programs use the last value.
std::optional<JsonFault> read_json_events(std::string_view text, JsonSink* sink);

// "line 3, column 14" of byte `at`, both counted from 1, columns in characters.
std::string line_and_column(std::string_view text, size_t at);

// kCorrupt: "not valid JSON at line 3, column 14: '}'; expected a value", that it is truncated,
// nested too deep, or sets a key twice. `fault` is one of `piece`, a view into the file `text`,
// whose lines are counted.
Failure not_json(const JsonFault& fault, std::string_view piece, std::string_view text);
inline Failure not_json(const JsonFault& fault, std::string_view text) {
  return not_json(fault, text, text);
}
// Fails as not_json(). With `set_twice`, the failure of a key that is set twice goes there.
Status json_status(const std::optional<JsonFault>& fault, std::string_view text, Status* set_twice);
// The same for JSON inside a binary file, where `start_byte` is the place of its first byte.
Failure not_json_at_byte(const JsonFault& fault, std::string_view text, uint64_t start_byte);

// White space that JSON allows between its words.
inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace ckpt
