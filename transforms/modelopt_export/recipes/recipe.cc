// Reads a recipe: tables of the fields that it may have, then what their values mean here.
#include "transforms/modelopt_export/recipes/recipe.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/base/words.h"

namespace ckpt {
namespace {

constexpr std::string_view kMeasuring = "ModelOpt itself, which runs the model over data";

// kRead: its reader checks it. kWord: one of `words`, in any case. All others: or absent.
enum class FieldForm : uint8_t { kRead, kWord, kTruth, kNumber, kNothing };

struct RecipeField {
  std::string_view of, key;
  FieldForm form = FieldForm::kRead;
  std::string_view words = {}, expected = "true or false", hint = {};
  double most = std::numeric_limits<float>::max();  // of kNumber
};

// All fields that a recipe may have, by the mapping that holds them.
constexpr RecipeField kRecipeFields[] = {
    {"recipe", "metadata"},
    {"recipe", "quantize"},
    {"metadata", "recipe_type"},
    {"metadata", "description"},
    {"quantize", "algorithm"},
    {"quantize", "quant_cfg"},
    {"algorithm", "method"},
    // How ModelOpt goes through the data changes nothing of what an export stores.
    {"algorithm", "layerwise"},
    {"algorithm", "skip_forward_without_activation_calib", FieldForm::kTruth},
    {"layerwise", "enable", FieldForm::kTruth},
    {"layerwise", "calib_mutates_weights", FieldForm::kTruth},
    {"rule", "quantizer_name"},
    {"rule", "parent_class"},
    {"rule", "cfg"},
    {"rule", "enable", FieldForm::kTruth},
    {"cfg", "num_bits", FieldForm::kWord, "e2m1 e4m3", "e2m1 (NVFP4) or e4m3 (FP8)"},
    {"cfg", "block_sizes"},
    {"cfg", "axis", FieldForm::kNothing, "", "null: a scale for all"},
    // It weighs formats where a search chooses among them, and nothing here.
    {"cfg", "effective_bits", FieldForm::kNumber, "", "a number above 0, 16 at most", "", 16},
    {"cfg", "constant_amax", FieldForm::kNumber, "", "a number above zero, as 2688.0"},
    {"cfg", "use_constant_amax", FieldForm::kTruth},
    {"blocks", "scale_bits", FieldForm::kWord, "e4m3",
     "e4m3; servers take no other 4-bit weights of ModelOpt"},
    {"blocks", "-1", FieldForm::kWord, "16", "16; servers take NVFP4 in no other blocks"},
    {"blocks", "type", FieldForm::kWord, "dynamic", "dynamic; static scales are found by a search",
     "a recipe without it and --search sweep, or --search four-over-six"},
    {"tiles", "-1"},
    {"tiles", "-2"}};

Failure refused(std::string_view key, const JsonValue* value, std::string_view expected,
                std::string_view hint = {}) {
  std::string said =
      value == nullptr ? "null" : value->dump(-1, ' ', false, JsonValue::error_handler_t::replace);
  if (said.size() > 60) said = said.substr(0, 60) + "...";
  return fail_with_hint(ErrorCode::kUnsupported, std::string(hint), "{}: {}; expected {}", key,
                        said, expected);
}

bool is_one_of(const JsonValue* value, std::string_view words) {
  return value != nullptr && value->is_string() &&
         has_word(words, value->get_ref<const std::string&>());
}

constexpr std::string_view kTruthWords = "true True TRUE false False FALSE";
bool is_true(const JsonValue* value) { return is_one_of(value, "true True TRUE"); }

// Digits, and a fraction: numbers that all readers of YAML read as the same.
std::optional<double> plain_number(const JsonValue& value) {
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr || text->empty() || text->front() == '.' ||
      text->find_first_not_of("0123456789.") != text->npos ||
      (text->size() > 1 && text->front() == '0' && (*text)[1] != '.')) {
    return std::nullopt;
  }
  double out = 0;
  const char* const end = text->data() + text->size();
  return std::from_chars(text->data(), end, out).ptr == end ? std::optional(out) : std::nullopt;
}

bool fits(const RecipeField& field, const JsonValue* value) {
  if (field.form == FieldForm::kRead) return true;
  if (field.form == FieldForm::kTruth) {
    return value == nullptr || is_one_of(value, kTruthWords);
  }
  if (field.form == FieldForm::kWord) {
    return value != nullptr && value->is_string() &&
           has_word(field.words, lower_case(value->get_ref<const std::string&>()));
  }
  if (value == nullptr || value->is_null()) return true;
  const auto number = field.form == FieldForm::kNumber ? plain_number(*value) : std::nullopt;
  return number && std::isnormal(static_cast<float>(*number)) && *number <= field.most;
}

// Fails on a key of `map` that is not a field of `kind`, and on a value that does not fit.
Status check_fields(const JsonValue& map, std::string_view kind, std::string_view where) {
  if (!map.is_object()) return refused(where, &map, "a mapping");
  std::vector<std::string_view> keys;
  for (const RecipeField& field : kRecipeFields) {
    if (field.of == kind) keys.push_back(field.key);
  }
  for (const auto& [key, value] : map.items()) {
    if (std::ranges::find(keys, key) != keys.end()) continue;
    return refused(fmt::format("{}.{}", where, key), &value,
                   fmt::format("no other keys than {}", fmt::join(keys, ", ")));
  }
  for (const RecipeField& field : kRecipeFields) {
    const JsonValue* value = member(map, field.key);
    if (field.of != kind || fits(field, value)) continue;
    return refused(fmt::format("{}.{}", where, field.key), value, field.expected, field.hint);
  }
  return {};
}

Result<NumberForm> read_numbers(const JsonValue& cfg, const std::string& where) {
  const JsonValue* blocks = known(cfg, "block_sizes");
  const std::string key = where + ".block_sizes";
  if (lower_case(*text_of(cfg, "num_bits")) == "e2m1") {
    CKPT_TRY(check_fields(blocks == nullptr ? JsonValue::object() : *blocks, "blocks", key));
    return NumberForm::kNvfp4;
  }
  if (blocks == nullptr) return NumberForm::kFp8;
  CKPT_TRY(check_fields(*blocks, "tiles", key));
  if (!is_one_of(member(*blocks, "-1"), "128") || !is_one_of(member(*blocks, "-2"), "128")) {
    return refused(key, blocks, "-1: 128 and -2: 128");
  }
  return NumberForm::kFp8Blocks;
}

Result<QuantizerForm> read_form(const JsonValue& cfg, const std::string& where) {
  if (cfg.is_array()) return refused(where, &cfg, "one mapping; two quantizers are not exported");
  CKPT_TRY(check_fields(cfg, "cfg", where));
  QuantizerForm out;
  CKPT_ASSIGN(out.numbers, read_numbers(cfg, where));
  if (const JsonValue* amax = known(cfg, "constant_amax")) {
    out.constant_amax = static_cast<float>(*plain_number(*amax));
  }
  out.is_cast = is_true(member(cfg, "use_constant_amax"));
  if (!out.is_cast || !out.constant_amax) return out;
  return refused(where, &cfg, "constant_amax or use_constant_amax");
}

Result<std::optional<QuantizerRule>> read_rule(const JsonValue& item, const std::string& where) {
  CKPT_TRY(check_fields(item, "rule", where));
  const std::string* name = text_of(item, "quantizer_name");
  if (name == nullptr) return refused(where, &item, "a quantizer_name");
  const JsonValue *cfg = known(item, "cfg"), *enable = member(item, "enable");
  if (!item.contains("cfg") && enable == nullptr) return refused(where, &item, "cfg or enable");
  QuantizerRule out{Glob(*name), std::nullopt, enable == nullptr || is_true(enable), false};
  const bool is_empty = cfg != nullptr && cfg->is_object() && cfg->empty() && !out.is_on;
  if (cfg != nullptr && !is_empty) {
    CKPT_ASSIGN(out.form, read_form(*cfg, where + ".cfg"));
  }
  const JsonValue* parent = known(item, "parent_class");
  out.is_of_tables = is_one_of(parent, "nn.Embedding");
  if (parent == nullptr || out.is_of_tables) return std::optional(std::move(out));
  // No layer that is exported is one of these.
  constexpr std::string_view kOthers = "nn.BatchNorm1d nn.BatchNorm2d nn.BatchNorm3d nn.LeakyReLU";
  if (!out.is_on && is_one_of(parent, kOthers)) return std::optional<QuantizerRule>();
  return refused(where + ".parent_class", parent, "nn.Embedding");
}

Status check_algorithm(const JsonValue& algorithm) {
  if (is_one_of(&algorithm, "max")) return {};
  const std::string key = "quantize.algorithm";
  const JsonValue* method = algorithm.is_object() ? member(algorithm, "method") : &algorithm;
  if (!is_one_of(method, "max")) {
    return refused(
        key, method == nullptr ? &algorithm : method, "max",
        is_one_of(method, "mse") ? "a recipe of max and --search sweep: less error" : kMeasuring);
  }
  CKPT_TRY(check_fields(algorithm, "algorithm", key));
  const JsonValue* layerwise = member(algorithm, "layerwise");
  if (layerwise == nullptr || is_one_of(layerwise, kTruthWords)) return {};
  if (layerwise->is_string()) return refused(key + ".layerwise", layerwise, "true or false");
  return check_fields(*layerwise, "layerwise", key + ".layerwise");
}

Result<QuantRecipe> read_rules(const std::string& name, const JsonValue& recipe) {
  const JsonValue *metadata = member(recipe, "metadata"), *quantize = member(recipe, "quantize");
  if (metadata == nullptr) return fail(ErrorCode::kUnsupported, "no metadata; expected a recipe");
  CKPT_TRY(check_fields(*metadata, "metadata", "metadata"));
  const JsonValue* type = member(*metadata, "recipe_type");
  if (!is_one_of(type, "ptq")) {
    return refused("metadata.recipe_type", type, "ptq",
                   is_one_of(type, "auto_quantize") ? kMeasuring : std::string_view());
  }
  CKPT_TRY(check_fields(recipe, "recipe", "recipe"));
  if (quantize == nullptr) return fail(ErrorCode::kUnsupported, "no quantize; expected a recipe");
  CKPT_TRY(check_fields(*quantize, "quantize", "quantize"));
  const JsonValue *algorithm = member(*quantize, "algorithm"),
                  *list = member(*quantize, "quant_cfg");
  const bool is_none = algorithm != nullptr && algorithm->is_null();
  if (algorithm != nullptr && !is_none) CKPT_TRY(check_algorithm(*algorithm));
  if (list == nullptr || !list->is_array() || list->empty()) {
    return refused("quantize.quant_cfg", list, "a list of rules");
  }
  if (list->front() != JsonValue{{"quantizer_name", "*"}, {"enable", "false"}}) {
    return refused("quantize.quant_cfg[0]", &list->front(),
                   "quantizer_name: '*' with enable: false");
  }
  QuantRecipe out{name, {}};
  for (size_t i = 0; i < list->size(); ++i) {
    CKPT_ASSIGN(auto rule, read_rule((*list)[i], fmt::format("quantize.quant_cfg[{}]", i)));
    if (rule) out.rules.push_back(std::move(*rule));
  }
  if (is_none) return refused("quantize.algorithm", algorithm, "max");
  return out;
}

}  // namespace

Result<QuantRecipe> read_quant_recipe(const std::string& name, const Context& context) {
  CKPT_ASSIGN(const LoadedRecipe recipe, in("preset", load_quant_recipe(name, context)));
  return in(fmt::format("preset {}", name), read_rules(name, recipe.value));
}

}  // namespace ckpt
