#include "core/model/quant_lists.h"

#include <algorithm>
#include <cctype>

namespace ckpt {
namespace {

constexpr ModuleList kUnquantizedLists[] = {
    {"modelopt", "ignore", ModuleSpelling::kGlobs},
    {kQuantConfigName, "exclude_modules", ModuleSpelling::kGlobs},
    {"compressed-tensors", "ignore", ModuleSpelling::kExpressions},
    {"quark", "exclude", ModuleSpelling::kExpressions},
    {"fp8", "ignored_layers", ModuleSpelling::kNames},
    {"fp8", "modules_to_not_convert", ModuleSpelling::kNames},
    {"fbgemm_fp8", "modules_to_not_convert", ModuleSpelling::kNames},
    {"bitsandbytes", "llm_int8_skip_modules", ModuleSpelling::kStems},
    {"gptq", "dynamic", ModuleSpelling::kRules},
    {"", "modules_to_not_convert", ModuleSpelling::kStems},
};
// Other lists and keys that name modules.
constexpr std::string_view kOtherLists[] = {
    "targets",      "quantized_layers",       "modules_in_block_to_quantize",
    "extra_config", "block_name_to_quantize", "layer_quant_config",
    "fqn_to_config", "module_fqn_to_config"};
// This key holds a text: names separated by commas.
constexpr std::string_view kJoinedNames = "block_name_to_quantize";
constexpr std::string_view kRuleMark = "+:";

void edit_items(JsonText& list, const EditEntry& edit) {
  std::vector<JsonText> kept;
  for (JsonText& item : list.items()) {
    if (item.is_array()) edit_items(item, edit);
    if (const auto entry = item.as_text()) {
      const auto made = edit(*entry);
      if (!made) continue;
      if (*made != *entry) item = JsonText::text(*made);
    }
    kept.push_back(std::move(item));
  }
  list.items() = std::move(kept);
}

void edit_keys(JsonText& object, bool are_rules, const EditEntry& edit) {
  std::vector<JsonText::Member> kept;
  for (auto& [key, value] : object.members()) {
    // A rule without a mark means "+:".
    const bool is_bare = are_rules && expression_mark(key) == 0;
    auto made = edit(is_bare ? std::string(kRuleMark) + key : key);
    if (!made) continue;
    kept.emplace_back(is_bare ? made->substr(kRuleMark.size()) : *made, std::move(value));
  }
  object.members() = std::move(kept);
}

std::string edited_names(std::string_view text, const EditEntry& edit) {
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string name(text.substr(at, end - at));
    out += (at == 0 ? "" : ",") + edit(name).value_or(name);
    at = end + 1;
  }
  return out;
}

}  // namespace

std::vector<ModuleList> unquantized_lists(std::string_view method) {
  // A declaration with quant_algo but without quant_method is ModelOpt's.
  if (method.empty() || method.starts_with("modelopt")) method = "modelopt";
  std::vector<ModuleList> out;
  for (const std::string_view name : {method, std::string_view()}) {
    for (const ModuleList& list : kUnquantizedLists) {
      if (list.method == name) out.push_back(list);
    }
    if (!out.empty()) break;
  }
  return out;
}

size_t expression_mark(std::string_view entry) {
  for (const std::string_view mark : {std::string_view("re:"), std::string_view("-:"), kRuleMark}) {
    if (entry.starts_with(mark)) return mark.size();
  }
  return 0;
}

EntryFront front_of(std::string_view entry) {
  const size_t mark = expression_mark(entry);
  std::string_view rest = entry.substr(mark);
  if (mark == 0) return rest.starts_with('*') ? EntryFront::kAnywhere : EntryFront::kName;
  if (rest.starts_with('^')) rest.remove_prefix(1);
  int depth = 0;
  for (const char c : rest) {
    depth += (c == '(') - (c == ')');
    if (c == '|' && depth == 0) return EntryFront::kUnclear;
  }
  if (rest.starts_with(".*")) return EntryFront::kAnywhere;
  const char first = rest.empty() ? '(' : rest[0];
  const bool is_name = std::isalnum(static_cast<unsigned char>(first)) != 0 || first == '_';
  return is_name ? EntryFront::kName : EntryFront::kUnclear;
}

std::string escaped_dots(std::string_view name) {
  std::string out;
  for (const char c : name) out += c == '.' ? std::string("\\.") : std::string(1, c);
  return out;
}

void edit_module_lists(JsonText& declared, const EditEntry& edit) {
  for (auto& [key, value] : declared.members()) {
    const auto row =
        std::find_if(std::begin(kUnquantizedLists), std::end(kUnquantizedLists),
                     [&](const ModuleList& list) { return list.key == std::string_view(key); });
    const bool is_list = row != std::end(kUnquantizedLists) ||
                         std::count(std::begin(kOtherLists), std::end(kOtherLists), key) != 0;
    if (is_list && value.is_array()) {
      edit_items(value, edit);
    } else if (is_list && value.is_object()) {
      const bool are_rules =
          row != std::end(kUnquantizedLists) && row->spelling == ModuleSpelling::kRules;
      edit_keys(value, are_rules, edit);
    } else if (const auto names = value.as_text(); names && key == kJoinedNames) {
      const std::string made = edited_names(*names, edit);
      if (made != *names) value = JsonText::text(made);
    } else if (value.is_object()) {
      edit_module_lists(value, edit);
    }
  }
}

}  // namespace ckpt
