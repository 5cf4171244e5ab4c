#include "transforms/edit/metadata_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/utf8.h"
#include "core/json/json_read.h"

namespace ckpt {
namespace {

constexpr MetaType kMetaTypes[] = {MetaType::kU8,  MetaType::kI8,  MetaType::kU16, MetaType::kI16,
                                   MetaType::kU32, MetaType::kI32, MetaType::kF32, MetaType::kBool,
                                   MetaType::kU64, MetaType::kI64, MetaType::kF64, MetaType::kText};

template <class T>
bool parse_whole(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<MetaValue> parse_number(MetaType type, std::string_view text) {
  const uint32_t bits = size_bytes(type) * 8;
  if (type == MetaType::kF32 || type == MetaType::kF64) {
    double value = 0;
    if (!parse_whole(text, value) || !std::isfinite(value)) return std::nullopt;
    if (type == MetaType::kF64) return MetaValue{type, value};
    if (std::fabs(value) > std::numeric_limits<float>::max()) return std::nullopt;
    return MetaValue::f32(value);
  }
  const bool is_signed = type == MetaType::kI8 || type == MetaType::kI16 ||
                         type == MetaType::kI32 || type == MetaType::kI64;
  if (is_signed) {
    int64_t value = 0;
    const int64_t most = std::numeric_limits<int64_t>::max() >> (64 - bits);
    if (!parse_whole(text, value) || value > most || value < -most - 1) return std::nullopt;
    return MetaValue{type, value};
  }
  uint64_t value = 0;
  const uint64_t most = std::numeric_limits<uint64_t>::max() >> (64 - bits);
  if (!parse_whole(text, value) || value > most) return std::nullopt;
  return MetaValue{type, value};
}

// Appends the bytes of a number as they are stored.
void append_number(std::vector<std::byte>& bytes, const MetaValue& number) {
  const auto append = [&](const auto& value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);  // little-endian, as stored
    bytes.insert(bytes.end(), first, first + size_bytes(number.type));
  };
  if (number.type == MetaType::kF32) {
    append(static_cast<float>(std::get<double>(number.value)));
  } else if (const auto* real = std::get_if<double>(&number.value)) {
    append(*real);
  } else if (const auto* whole = std::get_if<int64_t>(&number.value)) {
    append(*whole);
  } else {
    append(std::get<uint64_t>(number.value));
  }
}

}  // namespace

TypedValue split_type(std::string_view text) {
  const size_t colon = text.find(':');
  for (const MetaType type : kMetaTypes) {
    if (colon != text.npos && text.substr(0, colon) == name(type)) {
      return {type, text.substr(colon + 1)};
    }
  }
  return {std::nullopt, text};
}

std::optional<MetaValue> parse_value(MetaType type, std::string_view text) {
  if (type == MetaType::kText) {
    return is_utf8(text) ? std::optional(MetaValue::text(std::string(text))) : std::nullopt;
  }
  if (type == MetaType::kArray) return std::nullopt;
  if (type != MetaType::kBool) return parse_number(type, text);
  if (text != "true" && text != "false") return std::nullopt;
  return MetaValue::boolean(text == "true");
}

Result<MetaValue> parse_list(MetaType element, std::string_view text) {
  const auto json = parse_json("value", text);
  if (!json || !json->is_array()) {
    const std::string_view example = element == MetaType::kText ? R"(["en", "de"])" : "[1, 2]";
    return fail(ErrorCode::kUsage, "'{}' is not a list; expected JSON, as {}", shorten(text),
                example);
  }
  MetaArray out;
  out.element = element;
  for (const JsonValue& item : *json) {
    const auto* word = item.get_ptr<const std::string*>();
    const bool is_text = element == MetaType::kText;
    auto value = is_text == (word != nullptr) ? parse_value(element, is_text ? *word : item.dump())
                                              : std::nullopt;
    if (!value) {
      return fail(ErrorCode::kUsage, "{} in the list is not of type {}", shorten(item.dump()),
                  name(element));
    }
    if (is_text) {
      out.texts.push_back(*word);
    } else {
      append_number(out.numbers, *value);
    }
  }
  return MetaValue::array(std::move(out));
}

bool looks_typed(std::string_view text) {
  constexpr std::string_view kFlags[] = {"true", "false", "True", "False", "TRUE", "FALSE"};
  double number = 0;
  const std::string_view digits = text.substr(text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number =
      error != std::errc::invalid_argument && end == digits.data() + digits.size();
  const bool is_flag = std::find(std::begin(kFlags), std::end(kFlags), text) != std::end(kFlags);
  return is_flag || (is_number && !digits.empty()) ||
         (text.starts_with('[') && text.ends_with(']'));
}

}  // namespace ckpt
