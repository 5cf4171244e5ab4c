// Reads JSON as values without trust: nothing throws, and no depth overflows the stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/json/json_string.h"

namespace ckpt {

// Fails: kCorrupt, naming `path`: not JSON (with line and column), nested deeper than
// kMaxJsonDepth, or a duplicate key in an object. With `set_twice`, the failure for a duplicate key
// is stored there, and the last value of the key counts.
Result<JsonValue> parse_json(std::string_view path, std::string_view text,
                             Status* set_twice = nullptr);
// Does the same for a part of a file: `text` is a view into `whole`, whose lines messages count.
Result<JsonValue> parse_json_piece(std::string_view path, std::string_view text,
                                   std::string_view whole);

// Member `key` of an object, which may be null; nullptr if absent or `json` is another type.
const JsonValue* member(const JsonValue& json, std::string_view key);
// Does the same, but also returns nullptr for null.
const JsonValue* known(const JsonValue& json, std::string_view key);
// The text of member `key`; nullptr if it is not a text.
const std::string* text_of(const JsonValue& json, std::string_view key);
// The list or the object in member `key`, for use in a loop; an empty one if it is absent or of
// another kind.
const JsonValue& list_in(const JsonValue& json, std::string_view key);
const JsonValue& object_in(const JsonValue& json, std::string_view key);
// These three take a pointer, and return nullptr for a null one.
const JsonValue* member(const JsonValue* json, std::string_view key);
const JsonValue* known(const JsonValue* json, std::string_view key);
const std::string* text_of(const JsonValue* json, std::string_view key);
// Returns a view of the text; empty if it is not a text. `json` may also be a pointer.
template <class Json>
std::string_view text_in(const Json& json, std::string_view key) {
  const std::string* found = text_of(json, key);
  return found == nullptr ? std::string_view() : std::string_view(*found);
}
// A whole number >= 0, also if written as 4.0; nullopt otherwise.
std::optional<uint64_t> whole(const JsonValue& json);
std::optional<double> number(const JsonValue& json);
// Accept a null pointer, for which they return nullopt.
std::optional<uint64_t> whole(const JsonValue* json);
std::optional<double> number(const JsonValue* json);
// Whether the value is a number in Python, where true and false count as 1 and 0.
inline bool counts_as_number(const JsonValue& json) {
  return json.is_number() || json.is_boolean();
}
// Whether Python treats the value as true: not null, false, 0, "", [] or {}.
bool is_truthy(const JsonValue* json);

}  // namespace ckpt
