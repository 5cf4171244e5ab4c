// Reads a recipe, key by key.
#include "transforms/modelopt_export/recipes/recipe.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/words.h"

namespace ckpt {
namespace {

constexpr std::string_view kMeasuring = "ModelOpt itself, which runs the model over data";

Failure refused(std::string_view key, const JsonValue& value, std::string_view expected,
                std::string_view hint = {}) {
  std::string said = value.dump(-1, ' ', false, JsonValue::error_handler_t::replace);
  if (said.size() > 60) said = said.substr(0, 60) + "...";
  return fail_with_hint(ErrorCode::kUnsupported, std::string(hint), "{}: {}; expected {}", key,
                        said, expected);
}

// Fails on a key of `map` that is not among `known`.
Status check_keys(const JsonValue& map, std::initializer_list<std::string_view> known,
                  std::string_view where) {
  if (!map.is_object()) return refused(where, map, "a mapping");
  for (const auto& [key, value] : map.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return refused(fmt::format("{}.{}", where, key), value,
                   fmt::format("no other keys than {}", fmt::join(known, ", ")));
  }
  return {};
}

bool is_word(const JsonValue* value, std::string_view word) {
  return value != nullptr && value->is_string() && value->get_ref<const std::string&>() == word;
}

Result<bool> truth(const JsonValue& value, std::string_view key) {
  for (const std::string_view word : {"true", "True", "TRUE"}) {
    if (is_word(&value, word)) return true;
  }
  for (const std::string_view word : {"false", "False", "FALSE"}) {
    if (is_word(&value, word)) return false;
  }
  return refused(key, value, "true or false");
}

// Digits, and a fraction: numbers that all readers of YAML take for the same.
std::optional<double> plain_number(const JsonValue& value) {
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  const size_t digits = text.find_first_not_of("0123456789");
  const bool is_whole = digits == text.npos;
  if (text.empty() || digits == 0 || (text[0] == '0' && text.size() > 1 && digits != 1)) {
    return std::nullopt;
  }
  if (!is_whole &&
      (text[digits] != '.' || text.find_first_not_of("0123456789", digits + 1) != text.npos)) {
    return std::nullopt;
  }
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// ---- what a quantizer is -----------------------------------------------------------------------

Status check_blocks_of_16(const JsonValue& blocks, std::string_view key) {
  CKPT_TRY(check_keys(blocks, {"-1", "type", "scale_bits"}, key));
  const JsonValue *size = member(blocks, "-1"), *type = member(blocks, "type"),
                  *scale = member(blocks, "scale_bits");
  if (!is_word(scale, "e4m3") && !is_word(scale, "E4M3")) {
    return refused(fmt::format("{}.scale_bits", key), scale == nullptr ? JsonValue() : *scale,
                   "e4m3; servers take no other 4-bit weights of ModelOpt");
  }
  if (!is_word(size, "16")) {
    return refused(fmt::format("{}.-1", key), size == nullptr ? JsonValue() : *size,
                   "16; servers take NVFP4 in no other blocks");
  }
  if (!is_word(type, "dynamic")) {
    return refused(fmt::format("{}.type", key), type == nullptr ? JsonValue() : *type,
                   "dynamic; static scales are found by a search",
                   "a recipe without it and --search sweep, or --search four-over-six");
  }
  return {};
}

Result<NumberForm> read_numbers(const JsonValue& cfg, const std::string& where) {
  const JsonValue* bits = member(cfg, "num_bits");
  const JsonValue* blocks = known(cfg, "block_sizes");
  const std::string key = where + ".block_sizes";
  const std::string word = bits != nullptr && bits->is_string()
                               ? lower_case(bits->get_ref<const std::string&>())
                               : std::string();
  if (word == "e2m1") {
    CKPT_TRY(check_blocks_of_16(blocks == nullptr ? JsonValue::object() : *blocks, key));
    return NumberForm::kNvfp4;
  }
  if (word != "e4m3") {
    return refused(where + ".num_bits", bits == nullptr ? JsonValue() : *bits,
                   "e2m1 (NVFP4) or e4m3 (FP8)");
  }
  if (blocks == nullptr) return NumberForm::kFp8;
  CKPT_TRY(check_keys(*blocks, {"-1", "-2"}, key));
  if (!is_word(member(*blocks, "-1"), "128") || !is_word(member(*blocks, "-2"), "128")) {
    return refused(key, *blocks, "-1: 128 and -2: 128");
  }
  return NumberForm::kFp8Blocks;
}

Result<QuantizerForm> read_form(const JsonValue& cfg, const std::string& where) {
  if (cfg.is_array()) return refused(where, cfg, "one mapping; two quantizers are not exported");
  CKPT_TRY(check_keys(
      cfg,
      {"num_bits", "block_sizes", "axis", "effective_bits", "constant_amax", "use_constant_amax"},
      where));
  QuantizerForm out;
  CKPT_ASSIGN(out.numbers, read_numbers(cfg, where));
  if (const JsonValue* axis = known(cfg, "axis")) {
    return refused(where + ".axis", *axis, "null: a scale for all");
  }
  // It weighs formats where a search chooses among them, and nothing here.
  if (const JsonValue* weight = known(cfg, "effective_bits")) {
    const auto bits = plain_number(*weight);
    if (!bits || *bits <= 0 || *bits > 16) {
      return refused(where + ".effective_bits", *weight, "a number above 0, 16 at most");
    }
  }
  if (const JsonValue* amax = known(cfg, "constant_amax")) {
    const auto value = plain_number(*amax);
    out.constant_amax = static_cast<float>(value.value_or(0));
    if (!value || !std::isnormal(*out.constant_amax)) {
      return refused(where + ".constant_amax", *amax, "a number above zero, as 2688.0");
    }
  }
  if (const JsonValue* cast = member(cfg, "use_constant_amax")) {
    CKPT_ASSIGN(out.is_cast, truth(*cast, where + ".use_constant_amax"));
  }
  if (out.is_cast && out.constant_amax) {
    return refused(where, cfg, "constant_amax or use_constant_amax");
  }
  return out;
}

// ---- rules -------------------------------------------------------------------------------------

Result<std::optional<QuantizerRule>> read_rule(const JsonValue& item, const std::string& where) {
  CKPT_TRY(check_keys(item, {"quantizer_name", "parent_class", "cfg", "enable"}, where));
  const std::string* name = text_of(item, "quantizer_name");
  if (name == nullptr) return refused(where, item, "a quantizer_name");
  const JsonValue *cfg = known(item, "cfg"), *enable = member(item, "enable");
  if (!item.contains("cfg") && enable == nullptr) return refused(where, item, "cfg or enable");
  QuantizerRule out{Glob(*name), std::nullopt, true, false};
  if (enable != nullptr) {
    CKPT_ASSIGN(out.is_on, truth(*enable, where + ".enable"));
  }
  const bool is_empty = cfg != nullptr && cfg->is_object() && cfg->empty() && !out.is_on;
  if (cfg != nullptr && !is_empty) {
    CKPT_ASSIGN(out.form, read_form(*cfg, where + ".cfg"));
  }
  const JsonValue* parent = known(item, "parent_class");
  if (parent == nullptr) return std::optional(std::move(out));
  // No layer that is exported is one of these.
  for (const char* other : {"nn.BatchNorm1d", "nn.BatchNorm2d", "nn.BatchNorm3d", "nn.LeakyReLU"}) {
    if (!out.is_on && is_word(parent, other)) return std::optional<QuantizerRule>();
  }
  if (!is_word(parent, "nn.Embedding")) {
    return refused(where + ".parent_class", *parent, "nn.Embedding");
  }
  out.is_of_tables = true;
  return std::optional(std::move(out));
}

Status check_algorithm(const JsonValue& algorithm) {
  if (is_word(&algorithm, "max")) return {};
  const std::string key = "quantize.algorithm";
  const JsonValue* method = algorithm.is_object() ? member(algorithm, "method") : &algorithm;
  if (is_word(method, "mse")) {
    return refused(key, *method, "max", "a recipe of max and --search sweep: less error");
  }
  if (!is_word(method, "max")) {
    return refused(key, method == nullptr ? algorithm : *method, "max", kMeasuring);
  }
  CKPT_TRY(
      check_keys(algorithm, {"method", "layerwise", "skip_forward_without_activation_calib"}, key));
  if (const JsonValue* skip = member(algorithm, "skip_forward_without_activation_calib")) {
    CKPT_TRY(truth(*skip, key + ".skip_forward_without_activation_calib"));
  }
  // How ModelOpt goes through the data changes nothing of what an export stores.
  const JsonValue* layerwise = member(algorithm, "layerwise");
  if (layerwise == nullptr) return {};
  if (layerwise->is_string()) {
    CKPT_TRY(truth(*layerwise, key + ".layerwise"));
    return {};
  }
  CKPT_TRY(check_keys(*layerwise, {"enable", "calib_mutates_weights"}, key + ".layerwise"));
  for (const auto& [name, value] : layerwise->items()) {
    CKPT_TRY(truth(value, fmt::format("{}.layerwise.{}", key, name)));
  }
  return {};
}

Status check_metadata(const JsonValue& recipe) {
  const JsonValue* metadata = member(recipe, "metadata");
  if (metadata == nullptr) return fail(ErrorCode::kUnsupported, "no metadata; expected a recipe");
  CKPT_TRY(check_keys(*metadata, {"recipe_type", "description"}, "metadata"));
  const JsonValue* type = member(*metadata, "recipe_type");
  if (is_word(type, "ptq")) return {};
  const bool is_search = is_word(type, "auto_quantize");
  return refused("metadata.recipe_type", type == nullptr ? JsonValue() : *type, "ptq",
                 is_search ? kMeasuring : std::string_view());
}

Result<QuantRecipe> read_rules(const std::string& name, const JsonValue& recipe) {
  CKPT_TRY(check_metadata(recipe));
  CKPT_TRY(check_keys(recipe, {"metadata", "quantize"}, "recipe"));
  const JsonValue* quantize = member(recipe, "quantize");
  if (quantize == nullptr) return fail(ErrorCode::kUnsupported, "no quantize; expected a recipe");
  CKPT_TRY(check_keys(*quantize, {"algorithm", "quant_cfg"}, "quantize"));
  const JsonValue* algorithm = member(*quantize, "algorithm");
  const bool is_none = algorithm != nullptr && algorithm->is_null();
  if (algorithm != nullptr && !is_none) CKPT_TRY(check_algorithm(*algorithm));
  const JsonValue* list = member(*quantize, "quant_cfg");
  if (list == nullptr || !list->is_array() || list->empty()) {
    return refused("quantize.quant_cfg", list == nullptr ? JsonValue() : *list, "a list of rules");
  }
  const JsonValue& first = list->front();
  if (!first.is_object() || first.size() != 2 || !is_word(member(first, "quantizer_name"), "*") ||
      !is_word(member(first, "enable"), "false")) {
    return refused("quantize.quant_cfg[0]", first, "quantizer_name: '*' with enable: false");
  }
  QuantRecipe out{name, {}};
  for (size_t i = 0; i < list->size(); ++i) {
    CKPT_ASSIGN(auto rule, read_rule((*list)[i], fmt::format("quantize.quant_cfg[{}]", i)));
    if (rule) out.rules.push_back(std::move(*rule));
  }
  if (is_none) return refused("quantize.algorithm", *algorithm, "max");
  return out;
}

}  // namespace

Result<QuantRecipe> read_quant_recipe(const std::string& name, const Context& context) {
  CKPT_ASSIGN(const JsonValue recipe, in("preset", load_quant_recipe(name, context)));
  return in(fmt::format("preset {}", name), read_rules(name, recipe));
}

}  // namespace ckpt
