#include "core/json/json_read.h"

#include <cmath>

#include "core/json/json_reader.h"
#include "core/json/json_value_builder.h"

namespace ckpt {
Result<JsonValue> parse_json(std::string_view path, std::string_view text, Status* set_twice) {
  JsonValueBuilder builder;
  Status once;
  CKPT_TRY(in(path, json_status(read_json_events(text, &builder), text, &once)));
  once = in(path, std::move(once));
  if (set_twice == nullptr) CKPT_TRY(std::move(once));
  if (!once) *set_twice = std::move(once);
  return builder.take();
}

Result<JsonValue> parse_json_piece(std::string_view path, std::string_view text,
                                   std::string_view whole) {
  JsonValueBuilder builder;
  if (const auto fault = read_json_events(text, &builder)) {
    return in(path, Result<JsonValue>(not_json(*fault, text, whole)));
  }
  return builder.take();
}

const JsonValue* member(const JsonValue& json, std::string_view key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(std::string(key));
  return found == json.end() ? nullptr : &*found;
}

const JsonValue* known(const JsonValue& json, std::string_view key) {
  const JsonValue* found = member(json, key);
  return found != nullptr && found->is_null() ? nullptr : found;
}

const std::string* text_of(const JsonValue& json, std::string_view key) {
  const JsonValue* found = member(json, key);
  return found == nullptr ? nullptr : found->get_ptr<const std::string*>();
}

const JsonValue& list_in(const JsonValue& json, std::string_view key) {
  static const JsonValue kNone = JsonValue::array();
  const JsonValue* found = member(json, key);
  return found != nullptr && found->is_array() ? *found : kNone;
}

const JsonValue& object_in(const JsonValue& json, std::string_view key) {
  static const JsonValue kNone = JsonValue::object();
  const JsonValue* found = member(json, key);
  return found != nullptr && found->is_object() ? *found : kNone;
}

const JsonValue* member(const JsonValue* json, std::string_view key) {
  return json == nullptr ? nullptr : member(*json, key);
}

const JsonValue* known(const JsonValue* json, std::string_view key) {
  return json == nullptr ? nullptr : known(*json, key);
}

const std::string* text_of(const JsonValue* json, std::string_view key) {
  return json == nullptr ? nullptr : text_of(*json, key);
}

std::optional<uint64_t> whole(const JsonValue& json) {
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (!json.is_number_float()) return std::nullopt;
  const double value = json.get<double>();
  if (value < 0 || value >= 0x1p63 || value != std::floor(value)) return std::nullopt;
  return static_cast<uint64_t>(value);
}

std::optional<double> number(const JsonValue& json) {
  if (!json.is_number()) return std::nullopt;
  return json.get<double>();
}

std::optional<uint64_t> whole(const JsonValue* json) {
  return json == nullptr ? std::nullopt : whole(*json);
}

std::optional<double> number(const JsonValue* json) {
  return json == nullptr ? std::nullopt : number(*json);
}

bool is_truthy(const JsonValue* json) {
  if (json == nullptr || json->is_null()) return false;
  if (json->is_boolean()) return json->get<bool>();
  if (json->is_number()) return json->get<double>() != 0;
  if (const auto* text = json->get_ptr<const std::string*>()) return !text->empty();
  return !json->empty();
}

}  // namespace ckpt
