#include "core/json/json_read.h"

#include <cmath>

#include "core/json/json_fault.h"
#include "core/json/json_python.h"

namespace ckpt {
namespace {

// Brackets outside of strings: the parser recurses once for each.
bool nests_deeper(std::string_view text, uint32_t limit) {
  uint32_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if ((c == '{' || c == '[') && ++depth > limit) return true;
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  return false;
}

}  // namespace

std::optional<size_t> find_foreign_byte(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) return 0;
  const size_t zero = text.find('\0');
  return zero == text.npos ? std::nullopt : std::optional(zero);
}

Result<JsonValue> parse_json(std::string_view path, std::string_view text) {
  return parse_json_piece(path, text, text);
}

Result<JsonValue> parse_json_piece(std::string_view path, std::string_view text,
                                   std::string_view whole) {
  if (nests_deeper(text, kMaxJsonDepth)) {
    return fail(ErrorCode::kCorrupt, "{}: nested deeper than {} levels", path, kMaxJsonDepth);
  }
  if (find_foreign_byte(text)) return in(path, Result<JsonValue>(not_json(text, whole)));
  JsonValue json = JsonValue::parse(text, nullptr, false);
  if (!json.is_discarded()) return json;
  auto as_python = parse_python_json(text);
  if (!as_python) return in(path, Result<JsonValue>(not_json(text, whole)));
  return std::move(*as_python);
}

Result<std::optional<JsonValue>> read_object(const Checkpoint& checkpoint, std::string_view path) {
  const Document* document = checkpoint.find_document(path);
  if (document == nullptr) return std::optional<JsonValue>();
  CKPT_ASSIGN(JsonValue json, parse_json(path, *document->content));
  if (!json.is_object()) {
    return fail(ErrorCode::kCorrupt, "{}: a JSON {}; expected an object", path, json.type_name());
  }
  return std::optional<JsonValue>(std::move(json));
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
