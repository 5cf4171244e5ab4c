// JSON as values, read without trust: nothing throws, no depth overflows the stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/json/json_string.h"

namespace ckpt {

// Fails: kCorrupt, naming `path`: not JSON (with line and column), nested deeper than
// kMaxJsonDepth, or a key that an object sets twice: with `set_twice`, that failure goes there, and
// the last value of the key counts.
Result<JsonValue> parse_json(std::string_view path, std::string_view text,
                             Status* set_twice = nullptr);
// The same for a piece of a file: `text` is a view into `whole`, whose lines messages count.
Result<JsonValue> parse_json_piece(std::string_view path, std::string_view text,
                                   std::string_view whole);

// Member `key` of an object; nullptr when it is absent or `json` is not an object. May be null's.
const JsonValue* member(const JsonValue& json, std::string_view key);
// The same, but nullptr for null too.
const JsonValue* known(const JsonValue& json, std::string_view key);
// Text of member `key`; nullptr if it is not a text.
const std::string* text_of(const JsonValue& json, std::string_view key);
// The list or the object of member `key`, to be read in a loop; an empty one if it is neither there
// nor of that kind.
const JsonValue& list_in(const JsonValue& json, std::string_view key);
const JsonValue& object_in(const JsonValue& json, std::string_view key);
// The first three of what may be absent; nullptr then.
const JsonValue* member(const JsonValue* json, std::string_view key);
const JsonValue* known(const JsonValue* json, std::string_view key);
const std::string* text_of(const JsonValue* json, std::string_view key);
// The same as a view; empty if it is not a text. `json` may be a pointer, as above.
template <class Json>
std::string_view text_in(const Json& json, std::string_view key) {
  const std::string* found = text_of(json, key);
  return found == nullptr ? std::string_view() : std::string_view(*found);
}
// A whole number >= 0, also if written as 4.0; nullopt otherwise.
std::optional<uint64_t> whole(const JsonValue& json);
std::optional<double> number(const JsonValue& json);
// The same of what may be absent; nullopt then.
std::optional<uint64_t> whole(const JsonValue* json);
std::optional<double> number(const JsonValue* json);
// As in Python, where true and false count as 1 and 0.
inline bool counts_as_number(const JsonValue& json) {
  return json.is_number() || json.is_boolean();
}
// Whether Python treats the value as true: not null, false, 0, "", [] or {}.
bool is_truthy(const JsonValue* json);

}  // namespace ckpt
