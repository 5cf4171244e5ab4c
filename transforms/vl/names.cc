#include "transforms/vl/names.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "core/model/quant_lists.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "transforms/facts/quant_statement.h"
#include "transforms/packed/packed_weights.h"

namespace ckpt {
namespace {

// Prefixes of a wrapper's text model in saved files, in all families.
constexpr VlRename kWrappedForms[] = {{"model", "model.language_model"},
                                      {"model", "language_model.model"},
                                      {"lm_head", "language_model.lm_head"}};
constexpr std::string_view kVisionStems[] = {
    "model.visual",          "visual",       "vision_tower", "model.vision_tower",
    "multi_modal_projector", "vision_model", "mlp1",         "model.multi_modal_projector",
    "model.vision_model"};
constexpr std::string_view kMtpStem = "mtp";

// The rest of `name` after `stem`: "" if they are equal, ".x", "*"; nullopt if `name` does not
// belong to `stem`.
std::optional<std::string_view> rest_after(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem)) return std::nullopt;
  const std::string_view rest = name.substr(stem.size());
  const bool ends = rest.empty() || std::string_view(".*\\$?([").find(rest[0]) != rest.npos;
  return ends ? std::optional(rest) : std::nullopt;
}

bool has_stem(std::string_view name, std::string_view stem) {
  return rest_after(name, stem).has_value();
}

std::string unescaped(std::string_view expression) {
  std::string out;
  for (size_t i = 0; i < expression.size(); ++i) {
    const bool is_dot = expression[i] == '\\' && expression.substr(i + 1, 1) == ".";
    if (!is_dot) out += expression[i];
  }
  return out;
}

std::optional<std::string> replaced(std::string_view name, std::string_view from,
                                    std::string_view to) {
  const auto rest = rest_after(name, from);
  if (!rest) return std::nullopt;
  return std::string(to) + std::string(*rest);
}

// Renames a name or glob from one stem to the other, in the spelling of `spell`.
template <class Spell>
std::string renamed(std::string_view name, const VlFamily& family, VlSide side, Spell spell) {
  const VlPart part = vl_part_of(unescaped(name));
  if (part == VlPart::kVision || part == VlPart::kMtp) return std::string(name);
  for (const VlRename& form : kWrappedForms) {
    const auto out = replaced(name, spell(form.wrapped), spell(form.text));
    if (!out) continue;
    return side == VlSide::kText ? *out : std::string(name);
  }
  if (side == VlSide::kText) return std::string(name);
  for (const VlRename& rule : family.names) {
    if (const auto out = replaced(name, spell(rule.text), spell(rule.wrapped))) return *out;
  }
  return std::string(name);
}

// An entry that covers all modules below a stem.
std::string cover_of(std::string_view stem, ModuleSpelling spelling) {
  const std::string_view last = stem.substr(stem.rfind('.') + 1);
  if (spelling == ModuleSpelling::kGlobs) return std::string(stem) + "*";
  if (spelling == ModuleSpelling::kExpressions) return fmt::format("re:.*{}.*", last);
  if (spelling == ModuleSpelling::kRules) return fmt::format("-:.*{}.*", last);
  return std::string(stem);
}

// Whether cover_vl_modules wrote the entry, or it names tower modules under their own prefix.
bool is_vision_entry(const std::string& entry, const VlFamily& family) {
  if (vl_part_of(entry) == VlPart::kVision) return true;
  return std::ranges::any_of(family.vision_stems, [&](std::string_view stem) {
    return entry == cover_of(stem, ModuleSpelling::kExpressions) ||
           entry == cover_of(stem, ModuleSpelling::kRules);
  });
}

bool covers(const std::string& entry, std::string_view stem) {
  if (entry == stem) return true;
  if (expression_mark(entry) == 0) return glob_matches(entry, std::string(stem) + ".0.x");
  // by the last word, as recipes spell it: "re:.*visual.*", "re:visual.*"
  return entry.find(stem.substr(stem.rfind('.') + 1)) != entry.npos;
}

bool is_quantized(const Checkpoint& checkpoint, std::string_view stem) {
  return std::ranges::any_of(checkpoint.tensors, [&](const Tensor& each) {
    const bool has_scales = each.has_scales() || each.name.ends_with(".weight_scale") ||
                            each.name.ends_with(".weight_scale_inv");
    const bool is_packed =
        may_be_codes(each) && last_word(each.name).find("weight") != std::string_view::npos;
    return has_stem(each.name, stem) && (has_scales || is_packed);
  });
}

// Adds to a sorted list in order, and to others at the end, but before `mtp`: unwrapping removes
// the entries of the tower but keeps that one, so wrapping again gives the same list.
void add_entry(JsonText& list, const std::string& entry, const std::string& mtp) {
  std::vector<JsonText>& items = list.items();
  const auto text_of = [](const JsonText& item) { return item.as_text().value_or(""); };
  const bool is_sorted = std::ranges::is_sorted(
      items, [&](const JsonText& a, const JsonText& b) { return text_of(a) < text_of(b); });
  const bool ends_in_mtp = !items.empty() && text_of(items.back()) == mtp;
  const auto at = !is_sorted ? items.end() - (ends_in_mtp ? 1 : 0)
                             : std::ranges::find_if(items, [&](const JsonText& item) {
                                 return text_of(item) > entry;
                               });
  items.insert(at, JsonText::text(entry));
}

void cover_list(JsonText& list, const std::vector<std::string_view>& stems,
                ModuleSpelling spelling) {
  const bool are_rules = spelling == ModuleSpelling::kRules;
  if (are_rules ? !list.is_object() : !list.is_array()) return;
  std::vector<std::string> entries;
  for (const JsonText& item : list.items()) entries.push_back(item.as_text().value_or(""));
  for (const auto& [key, value] : list.members()) {
    if (key.starts_with("-:")) entries.push_back(key);
  }
  ptrdiff_t first_rules = 0;
  for (const std::string_view stem : stems) {
    if (std::ranges::any_of(entries,
                            [&](const std::string& entry) { return covers(entry, stem); })) {
      continue;
    }
    const std::string cover = cover_of(stem, spelling);
    if (are_rules) {
      list.members().emplace(list.members().begin() + first_rules++, cover, JsonText::object());
    } else {
      add_entry(list, cover, cover_of(kMtpStem, spelling));
    }
  }
}

// The list that readers use: the first with entries. If all are empty, the last one, unless its
// readers then detect modules by themselves.
std::optional<ModuleList> followed_list(const JsonText& declared, std::string_view method) {
  const std::vector<ModuleList> lists = unquantized_lists(method);
  for (const ModuleList& list : lists) {
    const JsonText* found = declared.find(list.key);
    if (found != nullptr && !(found->items().empty() && found->members().empty())) return list;
  }
  const bool is_there = declared.find(lists.back().key) != nullptr;
  return is_there && lists.back().spelling != ModuleSpelling::kStems ? std::optional(lists.back())
                                                                    : std::nullopt;
}

}  // namespace

VlPart vl_part_of(std::string_view name) {
  if (std::ranges::any_of(kVisionStems,
                          [&](std::string_view stem) { return has_stem(name, stem); })) {
    return VlPart::kVision;
  }
  if (has_stem(name, kMtpStem)) return VlPart::kMtp;
  for (const VlRename& form : kWrappedForms) {
    if (has_stem(name, form.wrapped)) return VlPart::kWrapped;
  }
  return has_stem(name, "model") || has_stem(name, "lm_head") ? VlPart::kText : VlPart::kOther;
}

std::string rename_vl_module(std::string_view entry, const VlFamily& family, VlSide side) {
  const auto plain = [](std::string_view stem) { return std::string(stem); };
  const size_t mark = expression_mark(entry);
  if (mark == 0) return renamed(entry, family, side, plain);
  std::string_view body = entry.substr(mark);
  std::string head(entry.substr(0, mark));
  if (body.starts_with('^')) {
    head += '^';
    body.remove_prefix(1);
  }
  const bool escapes = body.find("\\.") != body.npos;
  return head +
         (escapes ? renamed(body, family, side, escaped_dots) : renamed(body, family, side, plain));
}

Result<std::set<std::string>> rename_vl_modules(Checkpoint& checkpoint, const VlFamily& family,
                                                VlSide side) {
  std::set<std::string> unclear;
  const auto edit = [&](const std::string& entry) -> std::optional<std::string> {
    if (side == VlSide::kText && is_vision_entry(entry, family)) return std::nullopt;
    if (front_of(entry) != EntryFront::kUnclear) return rename_vl_module(entry, family, side);
    unclear.insert(entry);
    return entry;
  };
  CKPT_TRY(edit_quant_statements(checkpoint, [&](JsonText& declared, std::string_view) {
    edit_module_lists(declared, edit);
  }));
  return unclear;
}

Status cover_vl_modules(Checkpoint& checkpoint, const VlFamily& family) {
  std::vector<std::string_view> stems(family.vision_stems.begin(), family.vision_stems.end());
  if (family.has_mtp) stems.push_back(kMtpStem);
  std::erase_if(stems, [&](std::string_view stem) { return is_quantized(checkpoint, stem); });
  UnquantizedModules modules = modules_by_storage(checkpoint);
  std::ranges::copy_if(modules.plain, std::back_inserter(modules.added), [&](const auto& module) {
    return std::ranges::any_of(stems, [&](auto stem) { return has_stem(module, stem); });
  });
  return edit_quant_statements(checkpoint, [&](JsonText& declared, std::string_view method) {
    const auto list = followed_list(declared, method);
    if (list) cover_list(*declared.find(list->key), stems, list->spelling);
    // Servers that match names take a stem for the name of another module.
    const bool reads_names = list && list->spelling == ModuleSpelling::kNames;
    if (!list || reads_names) declare_unquantized_in(declared, method, modules);
  });
}

Status rename_vl_tensors(Checkpoint& checkpoint, const VlFamily& family, VlSide side) {
  const Tensor* first[2] = {nullptr, nullptr};  // with a text name, with a wrapped name
  std::unordered_set<std::string> names;
  for (Tensor& tensor : checkpoint.tensors) {
    const VlPart part = vl_part_of(tensor.name);
    const bool is_head = has_stem(tensor.name, "lm_head");  // some wrappers use this name too
    if (part == VlPart::kText && !is_head && first[0] == nullptr) first[0] = &tensor;
    if (part == VlPart::kWrapped && first[1] == nullptr) first[1] = &tensor;
    if (first[0] != nullptr && first[1] != nullptr) {
      return corrupt(
          "tensors '{}' and '{}': names of a text model and of a wrapped one; expected one of the "
          "two",
          first[0]->original_name(), first[1]->original_name());
    }
  }
  for (Tensor& tensor : checkpoint.tensors) {
    std::string name = rename_vl_module(tensor.name, family, side);
    if (!names.insert(name).second) return corrupt("two tensors would be called '{}'", name);
    if (name == tensor.name) continue;
    if (tensor.source_name.empty()) tensor.source_name = tensor.name;
    tensor.name = std::move(name);
  }
  return {};
}

}  // namespace ckpt
