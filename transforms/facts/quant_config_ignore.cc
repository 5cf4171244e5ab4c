// Lists of modules that are not quantized. exclude_modules uses the shortest entries:
//
//   model.visual.blocks.0.attn.qkv   ─▶ "model*" matches a quantized name, "model.visual*" does not
//   model.layers.1.mlp.gate          ─▶ "….mlp.gate*" would match mlp.gate_proj: the full name
//
// Source: NVIDIA Model-Optimizer modelopt/torch/export/quant_utils.py
// (_prefix_wildcard_summarize_exclude_modules).
// A prefix is tried as "a*", and then as "a" with "a.*", of which only "a.*" is written.
#include <algorithm>
#include <set>

#include "core/base/name_list.h"
#include "core/model/quant_lists.h"
#include "transforms/facts/quant_config.h"
#include "transforms/facts/quant_statement.h"

namespace ckpt {
namespace {

using NameSet = std::set<std::string, std::less<>>;

bool has_prefix(const NameSet& names, std::string_view prefix) {
  const auto at = names.lower_bound(prefix);
  return at != names.end() && at->starts_with(prefix);
}

// The first form that matches no quantized name; empty if `name` itself is quantized.
std::string summary_of(const std::string& name, const NameSet& quantized) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const std::string prefix = name.substr(0, dot);
    if (!has_prefix(quantized, prefix)) return prefix + "*";
    if (!quantized.contains(prefix) && !has_prefix(quantized, prefix + ".")) return prefix + ".*";
  }
  return quantized.contains(name) ? std::string() : name;
}

using ModuleNames = std::vector<std::string>;

// New rules precede the others, because the first match counts.
void add_rules(JsonText& rules, const ModuleNames& modules) {
  std::vector<JsonText::Member> all;
  std::set<std::string> known;
  for (const JsonText::Member& rule : rules.members()) known.insert(rule.first);
  for (const std::string& module : modules) {
    std::string rule = fmt::format("-:^{}$", escaped_dots(module));
    if (!known.contains(rule)) all.emplace_back(std::move(rule), JsonText::object());
  }
  std::move(rules.members().begin(), rules.members().end(), std::back_inserter(all));
  rules.members() = std::move(all);
}

void add_modules(JsonText& list, ModuleSpelling spelling, ModuleNames modules,
                 const ModuleNames& quantized) {
  if (spelling == ModuleSpelling::kRules) return add_rules(list, modules);
  ModuleNames entries;
  for (const JsonText& item : list.items()) entries.push_back(item.as_text().value_or(""));
  // Expressions are not examined.
  const NameList covered(std::move(entries));
  std::erase_if(modules, [&](const std::string& module) {
    return covered.matches(module) ||
           (spelling == ModuleSpelling::kStems && covered.holds_parent_of(module));
  });
  if (spelling == ModuleSpelling::kGlobs) modules = summarize_excluded(modules, quantized);
  for (const std::string& entry : modules) list.items().push_back(JsonText::text(entry));
}

}  // namespace

std::vector<std::string> summarize_excluded(const std::vector<std::string>& unquantized,
                                            const std::vector<std::string>& quantized) {
  const NameSet index(quantized.begin(), quantized.end());
  std::set<std::string> out;
  for (const std::string& name : unquantized) {
    std::string summary = summary_of(name, index);
    if (!summary.empty()) out.insert(std::move(summary));
  }
  return {out.begin(), out.end()};
}

void declare_unquantized_in(JsonText& declared, std::string_view method,
                            const UnquantizedModules& modules) {
  if (modules.added.empty()) return;
  const std::vector<ModuleList> lists = unquantized_lists(method);
  bool is_declared = false;
  for (const ModuleList& list : lists) {
    JsonText* found = declared.find(list.key);
    if (found == nullptr || (found->items().empty() && found->members().empty())) continue;
    add_modules(*found, list.spelling, modules.added, modules.quantized);
    is_declared = true;
  }
  const ModuleList& list = lists.back();
  const bool is_mixed = declared.find_text("quant_algo") == kMixedPrecision;
  if (is_declared || (is_mixed && declared.find(list.key) == nullptr)) return;
  const bool are_rules = list.spelling == ModuleSpelling::kRules;
  const bool is_partial = are_rules || list.spelling == ModuleSpelling::kGlobs;
  JsonText made = are_rules ? JsonText::object() : JsonText::array();
  // An empty list makes readers detect unquantized modules; a list with entries must be complete.
  add_modules(made, list.spelling, is_partial ? modules.added : modules.plain, modules.quantized);
  declared.set(list.key, std::move(made));
}

Status list_unquantized(Checkpoint& checkpoint, const std::vector<std::string>& entries) {
  return edit_quant_statements(checkpoint, [&](JsonText& declared, std::string_view method) {
    for (const ModuleList& list : unquantized_lists(method)) {
      JsonText* found = declared.find(list.key);
      if (found == nullptr || !found->is_array()) continue;
      for (const std::string& entry : entries) {
        const JsonText item = JsonText::text(entry);
        if (std::ranges::count(found->items(), item) == 0) found->items().push_back(item);
      }
    }
  });
}

Status declare_unquantized(Checkpoint& checkpoint, const UnquantizedModules& modules) {
  return edit_quant_statements(checkpoint, [&](JsonText& declared, std::string_view method) {
    declare_unquantized_in(declared, method, modules);
  });
}

}  // namespace ckpt
