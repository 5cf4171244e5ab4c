#include "transforms/modelopt_export/recipes/library.h"

#include <span>
#include <string>

#include "transforms/modelopt_export/recipes/rows.h"

namespace ckpt {
namespace {

constexpr std::string_view kUnitFolder = "configs/ptq/units/";
constexpr std::string_view kNumberFolder = "configs/numerics/";
constexpr std::string_view kPresetFolder = "configs/ptq/presets/model/";

// Fronts of quantizers' names.
constexpr std::string_view kAllLayers[] = {"*"};
constexpr std::string_view kExpertLayers[] = {"*.experts.*", "*block_sparse_moe*"};
constexpr std::string_view kMlpLayers[] = {"*mlp*", "*.mixer.up_proj.", "*.mixer.down_proj.",
                                           "*block_sparse_moe*", "*.experts.*"};
constexpr std::string_view kMlpAndOutputLayers[] = {
    "*mlp*", "*.mixer.up_proj.", "*.mixer.down_proj.", "*block_sparse_moe*", "*o_proj*"};
constexpr std::string_view kMlpAloneLayers[] = {"*mlp*", "*block_sparse_moe*"};

std::span<const std::string_view> fronts_of(LayerGroup group) {
  switch (group) {
    case LayerGroup::kAll:
      return kAllLayers;
    case LayerGroup::kAnyExperts:
      return kExpertLayers;
    case LayerGroup::kMlps:
      return kMlpLayers;
    case LayerGroup::kMlpAndOutput:
      return kMlpAndOutputLayers;
    case LayerGroup::kMlpAlone:
      return kMlpAloneLayers;
    case LayerGroup::kRules:
      break;
  }
  return {};
}

void append(JsonValue& list, const JsonValue& more) {
  list.insert(list.end(), more.begin(), more.end());
}

// quant_cfg: all off, the layers, the cache, what is off by default, what comes last.
JsonValue quant_cfg_of(const RecipeRow& row) {
  JsonValue out = JsonValue::array({rule_of({"*", ""})});
  for (const std::string_view front : fronts_of(row.layers)) {
    const std::string weight = std::string(front) + "weight_quantizer";
    const std::string input = std::string(front) + "input_quantizer";
    out.push_back(rule_of({weight, row.weights}));
    if (!row.inputs.empty()) out.push_back(rule_of({input, row.inputs, row.input_mark}));
  }
  append(out, rules_of(row.rules));
  if (!row.cache.empty()) append(out, *unit_rules(row.cache));
  append(out, *unit_rules("default_disabled_quantizers"));
  append(out, rules_of(row.last));
  return out;
}

JsonValue quantize_of(const RecipeRow& row) {
  const JsonValue method = row.method.empty() ? JsonValue() : JsonValue(row.method);
  return {{"algorithm", method}, {"quant_cfg", quant_cfg_of(row)}};
}

bool take_front(std::string_view& path, std::string_view front) {
  if (!path.starts_with(front)) return false;
  path.remove_prefix(front.size());
  return true;
}

std::optional<Snippet> snippet_or_none(SnippetKind kind, std::optional<JsonValue> value) {
  if (!value) return std::nullopt;
  return Snippet{kind, std::move(*value)};
}

}  // namespace

std::optional<Snippet> library_snippet(std::string_view path) {
  if (path.ends_with(".yaml")) path.remove_suffix(5);
  if (path == "configs/ptq/units/base_disable_all") {
    return Snippet{SnippetKind::kEntry, rule_of({"*", ""})};
  }
  std::string_view name = path;
  if (take_front(name, kNumberFolder)) {
    return snippet_or_none(SnippetKind::kAttributes, number_form(name));
  }
  if (take_front(name, kUnitFolder)) {
    return snippet_or_none(SnippetKind::kEntries, unit_rules(name));
  }
  const bool is_preset = take_front(name, kPresetFolder);
  for (const RecipeRow& row : kRecipes) {
    if (is_preset && row.layers == LayerGroup::kMlpAlone && row.name == name) {
      return Snippet{SnippetKind::kQuantConfig, quantize_of(row)};
    }
    const std::string whole = std::string(row.folder) + "/" + std::string(row.name);
    if (path == whole) return Snippet{SnippetKind::kNone, {}};
    if (row.layers == LayerGroup::kRules && path == whole + ".quant_cfg" &&
        row.name == kQwen35Attention) {
      return Snippet{SnippetKind::kEntries, quant_cfg_of(row)};
    }
  }
  return std::nullopt;
}

std::optional<JsonValue> library_recipe(std::string_view name) {
  for (const RecipeRow& row : kRecipes) {
    if (row.name != name) continue;
    return JsonValue{{"metadata", {{"recipe_type", "ptq"}}}, {"quantize", quantize_of(row)}};
  }
  return std::nullopt;
}

}  // namespace ckpt
