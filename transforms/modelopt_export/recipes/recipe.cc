// Reads a recipe: imports are put in their places, then its keys and values are checked.
//
//   {$import: NAME, key: value}    the mapping NAME; these keys replace its own
//   - $import: NAME                a list: its items; a mapping: itself
//
// An imported file declares its kind in a comment: "# modelopt-schema: modelopt....". Names that
// ModelOpt ships are its own; others are looked for in the folder of the recipe that was named, in
// modelopt_recipes there, and in the modelopt_recipes that contains the recipe. Nowhere else: a
// folder above may be another user's, and so may a file.
#include "transforms/modelopt_export/recipes/recipe.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/lines.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/trusted_path.h"
#include "core/readers/yaml.h"

namespace ckpt {
namespace fs = std::filesystem;

extern const std::string_view kModeloptRecipes;  // data/modelopt_recipes.yaml

namespace {

// Kinds of files, by the end of their comment "modelopt-schema".
constexpr std::string_view kSchemas =
    "QuantizeConfig QuantizerAttributeConfig QuantizerCfgEntry QuantizerCfgListConfig";
constexpr std::string_view kSchemaMark = "modelopt-schema:";
constexpr std::string_view kSchemaFront = "modelopt.torch.quantization.config.";
constexpr std::string_view kRecipeFolder = "modelopt_recipes";
constexpr std::string_view kImport = "$import";
constexpr uint64_t kMaxRecipeBytes = 1'000'000;
constexpr uint32_t kMaxImportDepth = 16;
constexpr uint32_t kMaxImports = 200;
constexpr uint64_t kMaxImportedValues = 100'000;  // each as often as it is put in

template <class... T>
Failure bad_import(fmt::format_string<T...> text, T&&... values) {
  return fail(ErrorCode::kUnsupported, text, std::forward<T>(values)...);
}

// Of kSchemas, by the leading comments; empty where they name none.
Result<std::string> schema_of(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::string_view line = trimmed(take_line(text));
    if (!line.empty() && line[0] != '#') break;
    line = trimmed(line.substr(line.empty() ? 0 : 1));
    if (!line.starts_with(kSchemaMark)) continue;
    line = trimmed(line.substr(kSchemaMark.size()));
    if (!out.empty()) return bad_import("two comments say modelopt-schema; expected one");
    if (line.starts_with(kSchemaFront)) out = line.substr(kSchemaFront.size());
    if (!has_word(kSchemas, out)) {
      return bad_import("modelopt-schema: {}; expected one of quantizers", line);
    }
  }
  return out;
}

// Puts `imports`, values by name, in their places. `left`: values that may still be put in.
Result<JsonValue> put_in(const JsonValue& value, const JsonValue& imports, uint64_t& left,
                         bool is_item = false) {
  if (!value.is_structured()) return value;
  const bool is_list = value.is_array();
  JsonValue out = is_list ? JsonValue::array() : JsonValue::object();
  if (const JsonValue* name = member(value, kImport)) {
    const auto* text = name->get_ptr<const std::string*>();
    const JsonValue* found = text == nullptr ? nullptr : member(imports, *text);
    if (found == nullptr) {
      return bad_import("$import: {}; expected a name of imports", name->dump());
    }
    const uint64_t count = found->flatten().size();
    if (count > left) {
      return bad_import("$import: {}: more than {} values are imported", name->dump(),
                        kMaxImportedValues);
    }
    left -= count;
    out = *found;
    if (is_item && value.size() == 1) return out;
    if (!out.is_object()) {
      return bad_import("$import: {} is a list; expected a mapping there", name->dump());
    }
  }
  for (const auto& [key, each] : value.items()) {
    if (key == kImport) continue;
    auto made = put_in(each, imports, left, is_list);
    if (!made) return is_list ? std::move(made) : in(key, std::move(made));
    if (!is_list) {
      out[key] = std::move(*made);
    } else if (made->is_array() && each.is_object()) {  // an import
      out.insert(out.end(), made->begin(), made->end());
    } else {
      out.push_back(std::move(*made));
    }
  }
  return out;
}

// Files that ModelOpt ships, by path below modelopt_recipes, without ".yaml"; recipes by name too.
struct Library {
  JsonValue imports = JsonValue::object(), recipes = JsonValue::object(),
            by_name = JsonValue::object();
};
const Library& library() {
  static const Library shipped = [] {
    Library out;
    const auto documents = parse_strict_yaml(kModeloptRecipes);
    CKPT_CHECK(documents.has_value());
    for (const JsonValue& document : *documents) {  // the last has the recipes
      out.imports.update(out.recipes);
      uint64_t left = kMaxImportedValues;
      auto made = put_in(document, out.imports, left);
      CKPT_CHECK(made.has_value());
      out.recipes = std::move(*made);
    }
    for (const auto& [path, value] : out.recipes.items()) {
      out.by_name[fs::path(path).filename().string()] = {{"metadata", {{"recipe_type", "ptq"}}},
                                                         {"quantize", value}};
    }
    return out;
  }();
  return shipped;
}

// A name with the ending is a file's.
bool is_recipe_file(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

// ---- a recipe and its files ---------------------------------------------------------------------

class RecipeLoader {
 public:
  explicit RecipeLoader(const Context& context) : context_(context) {}

  Result<LoadedRecipe> load(const std::string& name) {
    CKPT_CHECK(context_.file_text != nullptr);
    auto read = context_.file_text(name, kMaxRecipeBytes);
    const std::string stem = fs::path(name).stem();
    if (!read && library().by_name.contains(stem)) read.error().hint = "--preset " + stem;
    CKPT_ASSIGN(const std::string text, std::move(read));
    const fs::path own = fs::path(name).parent_path();
    files_ = {name};
    folders_ = {{own, ""}, {own, kRecipeFolder}};
    for (fs::path folder = fs::absolute(name).parent_path(); folder.has_relative_path();
         folder = folder.parent_path()) {
      if (folder.filename() == kRecipeFolder) folders_.emplace_back(folder, "");
    }
    CKPT_ASSIGN(JsonValue made, in(name, resolved(text, 0)));
    if (made.is_object()) return LoadedRecipe{std::move(made), std::move(files_)};
    return bad_import("{}: {}; expected metadata and quantize", name,
                      made.is_array() ? "a list" : "one value");
  }

 private:
  // The text of the file that an import means.
  Result<std::string> read_file(const std::string& name) {
    for (const auto& [folder, below] : folders_) {
      for (const char* ending : {".yml", ".yaml"}) {
        const fs::path file = below / (is_recipe_file(name) ? name : name + ending);
        CKPT_ASSIGN(const bool is_there, is_trusted_file(folder, file));
        if (!is_there) continue;
        const fs::path path = folder / file;
        if (std::ranges::find(files_, path) == files_.end()) files_.push_back(path);
        return context_.file_text(path, kMaxRecipeBytes);
      }
    }
    return fail_with_hint(ErrorCode::kUsage, "the recipe inside the modelopt_recipes it came with",
                          "neither next to the recipe nor one that ModelOpt 0.47 ships");
  }

  // The meaning of `name` in an import.
  Result<JsonValue> find_import(const std::string& name, uint32_t depth) {
    const fs::path path(name);
    if (name.empty() || path.is_absolute() || std::ranges::count(path, "..") != 0) {
      return bad_import("imports: '{}'; expected a path below modelopt_recipes", name);
    }
    const std::string own = name.substr(0, name.size() - (name.ends_with(".yaml") ? 5 : 0));
    if (const JsonValue* found = member(library().imports, own)) return *found;
    std::string schema;
    JsonValue out;
    if (!library().recipes.contains(own)) {
      CKPT_ASSIGN(const auto text, in(fmt::format("imports: '{}'", name), read_file(name)));
      CKPT_ASSIGN(schema, in(name, schema_of(text)));
      CKPT_ASSIGN(out, in(name, resolved(text, depth + 1)));
    }
    if (schema.empty()) {
      return bad_import("imports: '{}' has no comment that says its modelopt-schema", name);
    }
    const bool is_list = schema == "QuantizerCfgListConfig";
    // A configuration that is a rule would be one where a list imports it.
    const bool is_rule = schema == "QuantizeConfig" && member(out, "quantizer_name") != nullptr;
    if (is_list ? out.is_array() : out.is_object() && !is_rule) return out;
    return bad_import("{}: contradicts its modelopt-schema; expected a {}", name,
                      is_list   ? "list"
                      : is_rule ? "mapping without quantizer_name"
                                : "mapping");
  }

  // The text as a value, without "imports" and "$import".
  Result<JsonValue> resolved(const std::string& text, uint32_t depth) {
    if (depth > kMaxImportDepth || ++resolved_ > kMaxImports) {
      return bad_import("imports go round in a circle, or are too many");
    }
    CKPT_ASSIGN(std::vector<JsonValue> documents, parse_strict_yaml(text));
    const size_t count = documents.size();
    if (count == 0 || count > 2 || (count == 2 && !documents[0].is_object())) {
      return bad_import("{} YAML documents; expected one, or imports and one", count);
    }
    JsonValue& body = documents.back();
    for (const auto& [key, value] : documents[0].items()) {
      if (count == 1 || key == "imports") continue;
      return bad_import("'{}' before '---'; expected imports alone", key);
    }
    if (count == 2 && member(body, "imports") != nullptr) {
      return bad_import("imports before and behind '---'; expected one of them");
    }
    JsonValue imports = JsonValue::object();
    if (const JsonValue* said = known(documents[0], "imports")) {
      if (!said->is_object()) return bad_import("imports: expected names and paths");
      for (const auto& [name, path] : said->items()) {
        if (!path.is_string()) return bad_import("imports: '{}': no path", name);
        CKPT_ASSIGN(imports[name], find_import(path.get_ref<const std::string&>(), depth));
      }
    }
    if (body.is_object()) body.erase("imports");
    return put_in(body, imports, left_);
  }

  const Context& context_;
  std::vector<std::pair<fs::path, fs::path>> folders_;  // and what precedes an import's name
  std::vector<fs::path> files_;                         // read, each once; the recipe's first
  uint32_t resolved_ = 0;
  uint64_t left_ = kMaxImportedValues;
};

// ---- keys and values ----------------------------------------------------------------------------

constexpr std::string_view kMeasuring = "ModelOpt itself, which runs the model over data";
constexpr std::string_view kTruthWords = "true True TRUE false False FALSE";

// Of the keys that are neither a mapping, a list nor a name.
struct RecipeValue {
  std::string_view key;
  std::string_view words;  // one of these, in any case; none: a number, or absent
  std::string_view expected, hint = {};
  double most = std::numeric_limits<float>::max();
};
constexpr RecipeValue kRecipeValues[] = {
    {"num_bits", "e2m1 e4m3", "e2m1 (NVFP4) or e4m3 (FP8)"},
    // It weighs formats where a search chooses among them, and nothing here.
    {"effective_bits", "", "a number above 0, 16 at most", "", 16},
    {"constant_amax", "", "a number above zero, as 2688.0"},
    {"scale_bits", "e4m3", "e4m3; servers take no other 4-bit weights of ModelOpt"},
    {"-1", "16", "16; servers take NVFP4 in no other blocks"},
    {"type", "dynamic", "dynamic; static scales are found by a search",
     "a recipe without it and --search sweep, or --search four-over-six"}};
// True or false, or absent. How ModelOpt goes through the data changes nothing of what is stored.
constexpr std::string_view kRecipeTruths =
    "enable use_constant_amax skip_forward_without_activation_calib calib_mutates_weights";

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

bool is_true(const JsonValue* value) { return is_one_of(value, "true True TRUE"); }

// Digits, and a fraction: numbers that all readers of YAML read as the same.
std::optional<double> plain_number(const JsonValue& value) {
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr || text->empty() || text->front() == '.' ||
      text->find_first_not_of("0123456789.") != text->npos ||
      (text->size() > 1 && text->front() == '0' && (*text)[1] != '.')) {
    return std::nullopt;
  }
  return number_from<double>(*text);
}

bool fits(const RecipeValue& rule, const JsonValue* value) {
  if (!rule.words.empty()) {
    return value != nullptr && value->is_string() &&
           has_word(rule.words, lower_case(value->get_ref<const std::string&>()));
  }
  if (value == nullptr || value->is_null()) return true;
  const auto number = plain_number(*value);
  return number && std::isnormal(static_cast<float>(*number)) && *number <= rule.most;
}

// Fails on a key of `map` that is none of `keys`, and on a value that does not fit its key.
Status check_fields(const JsonValue& map, std::string_view keys, const std::string& where) {
  if (!map.is_object()) return refused(where, &map, "a mapping");
  for (const auto& [key, value] : map.items()) {
    if (has_word(keys, key)) continue;
    std::string listed(keys);
    for (size_t at = 0; (at = listed.find(' ', at)) != listed.npos; at += 2) listed.insert(at, ",");
    return refused(where + "." + key, &value, "no other keys than " + listed);
  }
  while (!keys.empty()) {
    const std::string key(take_word(keys));
    const JsonValue* value = member(map, key);
    if (has_word(kRecipeTruths, key) && value != nullptr && !is_one_of(value, kTruthWords)) {
      return refused(where + "." + key, value, "true or false");
    }
    for (const RecipeValue& rule : kRecipeValues) {
      if (rule.key != key || fits(rule, value)) continue;
      return refused(where + "." + key, value, rule.expected, rule.hint);
    }
  }
  return {};
}

Result<NumberForm> read_numbers(const JsonValue& cfg, const std::string& where) {
  const JsonValue* blocks = known(cfg, "block_sizes");
  const std::string key = where + ".block_sizes";
  if (lower_case(*text_of(cfg, "num_bits")) == "e2m1") {
    CKPT_TRY(
        check_fields(blocks == nullptr ? JsonValue::object() : *blocks, "scale_bits -1 type", key));
    return NumberForm::kNvfp4;
  }
  if (blocks == nullptr) return NumberForm::kFp8;
  const bool is_square = is_one_of(member(*blocks, "-1"), "128") &&
                         is_one_of(member(*blocks, "-2"), "128") && blocks->size() == 2;
  if (is_square) return NumberForm::kFp8Blocks;
  return refused(key, blocks, "-1: 128 and -2: 128");
}

Result<QuantizerForm> read_form(const JsonValue& cfg, const std::string& where) {
  if (cfg.is_array()) return refused(where, &cfg, "one mapping; two quantizers are not exported");
  CKPT_TRY(check_fields(
      cfg, "num_bits block_sizes axis effective_bits constant_amax use_constant_amax", where));
  if (const JsonValue* axis = known(cfg, "axis")) {
    return refused(where + ".axis", axis, "null: a scale for all");
  }
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
  CKPT_TRY(check_fields(item, "quantizer_name parent_class cfg enable", where));
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
  CKPT_TRY(check_fields(algorithm, "method layerwise skip_forward_without_activation_calib", key));
  const JsonValue* layerwise = member(algorithm, "layerwise");
  if (layerwise == nullptr || is_one_of(layerwise, kTruthWords)) return {};
  if (layerwise->is_string()) return refused(key + ".layerwise", layerwise, "true or false");
  return check_fields(*layerwise, "enable calib_mutates_weights", key + ".layerwise");
}

Result<QuantRecipe> read_rules(const std::string& name, const JsonValue& recipe) {
  const JsonValue *metadata = member(recipe, "metadata"), *quantize = member(recipe, "quantize");
  if (metadata == nullptr) return fail(ErrorCode::kUnsupported, "no metadata; expected a recipe");
  CKPT_TRY(check_fields(*metadata, "recipe_type description", "metadata"));
  const JsonValue* type = member(*metadata, "recipe_type");
  if (!is_one_of(type, "ptq")) {
    return refused("metadata.recipe_type", type, "ptq",
                   is_one_of(type, "auto_quantize") ? kMeasuring : std::string_view());
  }
  CKPT_TRY(check_fields(recipe, "metadata quantize", "recipe"));
  if (quantize == nullptr) return fail(ErrorCode::kUnsupported, "no quantize; expected a recipe");
  CKPT_TRY(check_fields(*quantize, "algorithm quant_cfg", "quantize"));
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

std::vector<std::string> shipped_recipes() {
  std::vector<std::string> out;
  for (const auto& [name, value] : library().by_name.items()) out.push_back(name);
  return out;
}

Result<LoadedRecipe> load_quant_recipe(const std::string& name, const Context& context) {
  const JsonValue* const shipped = member(library().by_name, name);
  if (shipped != nullptr && !is_recipe_file(name)) return LoadedRecipe{*shipped, {}};
  CKPT_ASSIGN(LoadedRecipe out, RecipeLoader(context).load(name));
  std::vector<std::string> imports(out.files.begin() + 1, out.files.end());
  if (!imports.empty()) {
    context.note(fmt::format("preset {}: its imports are of {}", name, fmt::join(imports, ", ")));
  }
  return out;
}

Result<QuantRecipe> read_quant_recipe(const std::string& name, const Context& context) {
  CKPT_ASSIGN(const LoadedRecipe recipe, in("preset", load_quant_recipe(name, context)));
  return in(fmt::format("preset {}", name), read_rules(name, recipe.value));
}

}  // namespace ckpt
