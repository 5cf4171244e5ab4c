// JSON documents of a checkpoint, read without trust: nothing throws, no depth overflows the stack.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// Objects are kept sorted by key: the order of fields never matters to what is made of them, and a
// vocabulary of 250,000 entries needs a map that is found in, not walked through.
using JsonValue = nlohmann::json;

inline constexpr uint32_t kMaxJsonDepth = 128;

// Where `text` holds what no JSON may but the parser underneath takes: a zero byte, which it takes
// for the end, or a byte order mark, which it skips. nullopt when all is well.
std::optional<size_t> find_foreign_byte(std::string_view text);

// JSON as Python reads it: also NaN, Infinity, and numbers that are infinite as a double.
// Fails: kCorrupt, naming `path`: no JSON (with its line and column), or nested deeper than
// kMaxJsonDepth.
Result<JsonValue> parse_json(std::string_view path, std::string_view text);
// The same for a piece of a file: `text` is a view into `whole`, whose lines messages count.
Result<JsonValue> parse_json_piece(std::string_view path, std::string_view text,
                                   std::string_view whole);

// The document at `path` as a JSON object; nullopt when there is none.
// Fails: as parse_json; kCorrupt when it is no object.
Result<std::optional<JsonValue>> read_object(const Checkpoint& checkpoint, std::string_view path);

// Member `key` of an object; nullptr when it is absent or `json` is no object. May be null's.
const JsonValue* member(const JsonValue& json, std::string_view key);
// The same, but nullptr for null too.
const JsonValue* known(const JsonValue& json, std::string_view key);
// Text of member `key`, nullptr when it is no text.
const std::string* text_of(const JsonValue& json, std::string_view key);
// A whole number >= 0, also one written as 4.0; nullopt for all else.
std::optional<uint64_t> whole(const JsonValue& json);
std::optional<double> number(const JsonValue& json);
// True where Python would take the value for true: not null, false, 0, "", [] or {}.
bool is_truthy(const JsonValue* json);

}  // namespace ckpt
