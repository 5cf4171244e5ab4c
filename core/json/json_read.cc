#include "core/json/json_read.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "core/json/json_reader.h"
#include "core/json/json_string.h"
#include "core/json/json_value_builder.h"

namespace ckpt {
namespace {

JsonValue number_value(std::string_view spelling) {
  const char* end = spelling.data() + spelling.size();
  const auto whole_as = [&](auto value) {
    const auto read = std::from_chars(spelling.data(), end, value);
    return read.ec == std::errc() && read.ptr == end ? JsonValue(value) : JsonValue();
  };
  JsonValue out = spelling[0] == '-' ? whole_as(int64_t{}) : whole_as(uint64_t{});
  if (!out.is_null()) return out;
  double value = 0;
  const auto read = std::from_chars(spelling.data(), end, value);
  if (read.ec == std::errc::result_out_of_range) {  // leaves `value` as it was
    value = std::strtod(std::string(spelling).c_str(), nullptr);
  }
  return value;
}

}  // namespace

JsonValue json_scalar(std::string_view spelling) {
  switch (spelling[0]) {
    case '"':
      return json_unquoted(spelling);
    case 'n':
      return nullptr;
    case 't':
      return true;
    case 'f':
      return false;
    case 'N':
      return std::numeric_limits<double>::quiet_NaN();
    case 'I':
      return std::numeric_limits<double>::infinity();
    default:
      if (spelling == "-Infinity") return -std::numeric_limits<double>::infinity();
      return number_value(spelling);
  }
}

Result<JsonValue> parse_json(std::string_view path, std::string_view text) {
  return parse_json_piece(path, text, text);
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

bool is_truthy(const JsonValue* json) {
  if (json == nullptr || json->is_null()) return false;
  if (json->is_boolean()) return json->get<bool>();
  if (json->is_number()) return json->get<double>() != 0;
  if (const auto* text = json->get_ptr<const std::string*>()) return !text->empty();
  return !json->empty();
}

}  // namespace ckpt
