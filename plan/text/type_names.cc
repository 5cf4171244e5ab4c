#include "plan/text/type_names.h"

#include <cctype>

#include "core/base/nearest.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

struct Alias {
  std::string_view name, type;
};
constexpr Alias kAliases[] = {{"fp16", "f16"},     {"float16", "f16"}, {"half", "f16"},
                              {"fp32", "f32"},     {"float32", "f32"}, {"float", "f32"},
                              {"bfloat16", "bf16"}};

std::string type_letters(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '_' || c == '-') continue;
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// The entry of `names` that equals `text` apart from case and punctuation; "" if none does.
std::string same_letters(std::string_view text, const std::vector<std::string>& names) {
  const std::string letters = type_letters(text);
  for (const std::string& name : names) {
    if (type_letters(name) == letters) return name;
  }
  return {};
}

std::string alias_of(std::string_view text) {
  const std::string letters = type_letters(text);
  for (const Alias& alias : kAliases) {
    if (alias.name == letters) return std::string(alias.type);
  }
  for (const TypeInfo& type : all_types()) {
    if (!type.alias.empty() && type_letters(type.alias) == letters) return std::string(type.name);
  }
  return {};
}

// Advice for types that other programs write as a number or another word: "15", "COPY", "auto".
std::string own_spelling(std::string_view text) {
  for (const TypeInfo& type : all_types()) {
    if (text == fmt::format("{}", type.number)) return std::string(type.name);
  }
  const bool keeps = is_same_word(text, "copy") || is_same_word(text, "auto");
  return keeps ? "without it: tensors then keep their types" : std::string();
}

}  // namespace

Result<std::string> target_type_named(std::string_view before, std::string_view text) {
  const std::vector<std::string> names = names_in(target_types());
  std::string found = same_letters(text, names);
  if (found.empty()) found = alias_of(text);
  if (!found.empty()) return found;
  if (const std::string own = own_spelling(text); !own.empty()) {
    return misuse_hint(own.starts_with("without") ? own : fmt::format("{}{}", before, own),
                       "{}{}: a word of other programs; expected the name of a type", before, text);
  }
  return misuse_hint(near_hint(text, names, before, "ckpt list types"),
                     "{}{}: no type is called '{}'; expected one of {}", before, text, text,
                     fmt::join(names, ", "));
}

std::string tensor_type_named(std::string_view text) {
  std::vector<std::string> names;
  for (const Codec* codec : all_codecs()) {
    if (codec->parts.size() == 1 && codec->encode != nullptr) names.emplace_back(codec->name);
  }
  std::string found = same_letters(text, names);
  if (found.empty()) found = alias_of(text);
  return found.empty() ? std::string(text) : found;
}

std::string rule_with_type_named(std::string_view rule) {
  const size_t equals = rule.rfind('=');
  if (equals == rule.npos) return std::string(rule);
  return fmt::format("{}={}", rule.substr(0, equals), tensor_type_named(rule.substr(equals + 1)));
}

}  // namespace ckpt
