#include "tools/say/meta_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ckpt {
namespace {

constexpr size_t kShownTextBytes = 120;
constexpr uint64_t kShownElements = 6;

// Cuts long text. The console escapes control characters.
std::string short_text(const std::string& text) {
  if (text.size() <= kShownTextBytes) return fmt::format("\"{}\"", text);
  std::string out = text.substr(0, kShownTextBytes);
  // Drop the bytes of a character that was cut in the middle.
  while (!out.empty() && (out.back() & '\xC0') == '\x80') out.pop_back();
  if (!out.empty() && (out.back() & '\x80') != 0) out.pop_back();
  return fmt::format("\"{}\"... ({} bytes)", out, text.size());
}

std::string number_text(double number, MetaType type) {
  if (type == MetaType::kF32) return fmt::format("{}", static_cast<float>(number));
  return fmt::format("{}", number);
}

std::string array_text(const MetaArray& array) {
  std::string out = "[";
  const uint64_t shown = std::min(array.count(), kShownElements);
  for (uint64_t i = 0; i < shown; ++i) {
    if (i > 0) out += ", ";
    if (array.element == MetaType::kText)
      out += short_text(array.texts[i]);
    else if (array.element == MetaType::kArray)
      out += array_text(array.arrays[i]);
    else
      out += number_text(number_at(array, i), array.element);
  }
  if (shown < array.count()) out += fmt::format(", ... {} in all", array.count());
  return out + "]";
}

Json array_json(const MetaArray& array) {
  Json out = Json::array();
  for (uint64_t i = 0; i < array.count(); ++i) {
    if (array.element == MetaType::kText)
      out.push_back(array.texts[i]);
    else if (array.element == MetaType::kArray)
      out.push_back(array_json(array.arrays[i]));
    else if (array.element == MetaType::kF32 || array.element == MetaType::kF64)
      out.push_back(number_at(array, i));
    else if (array.element == MetaType::kBool)
      out.push_back(number_at(array, i) != 0);
    else
      out.push_back(static_cast<int64_t>(number_at(array, i)));
  }
  return out;
}

}  // namespace

std::string meta_text(const MetaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return short_text(*text);
  if (const auto* array = std::get_if<MetaArray>(&value.value)) return array_text(*array);
  if (const auto* number = std::get_if<double>(&value.value)) {
    return number_text(*number, value.type);
  }
  if (const auto* number = std::get_if<int64_t>(&value.value)) return fmt::format("{}", *number);
  const uint64_t number = std::get<uint64_t>(value.value);
  if (value.type == MetaType::kBool) return number != 0 ? "true" : "false";
  return fmt::format("{}", number);
}

std::string meta_type_name(const MetaValue& value) {
  const auto* array = std::get_if<MetaArray>(&value.value);
  if (array == nullptr) return std::string(name(value.type));
  return fmt::format("array of {}", name(array->element));
}

Json meta_json(const MetaValue& value) {
  if (value.type == MetaType::kBool) return std::get<uint64_t>(value.value) != 0;
  if (const auto* array = std::get_if<MetaArray>(&value.value)) return array_json(*array);
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, MetaArray>)
          return Json();
        else
          return Json(v);
      },
      value.value);
}

}  // namespace ckpt
