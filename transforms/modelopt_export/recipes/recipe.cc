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
#include <limits>

#include "core/base/lines.h"
#include "core/base/numbers.h"
#include "core/base/utf8.h"
#include "core/base/words.h"
#include "core/model/trusted_path.h"
#include "core/readers/yaml.h"

namespace ckpt {
namespace fs = std::filesystem;

extern const std::string_view kModeloptRecipes;  // data/modelopt_recipes.yaml

namespace {

constexpr std::string_view kSchemas =  // kinds of files
    "modelopt.torch.quantization.config.QuantizeConfig"
    " modelopt.torch.quantization.config.QuantizerAttributeConfig"
    " modelopt.torch.quantization.config.QuantizerCfgEntry"
    " modelopt.torch.quantization.config.QuantizerCfgListConfig";
constexpr std::string_view kSchemaMark = "modelopt-schema:";
constexpr std::string_view kRecipeFolder = "modelopt_recipes";
constexpr uint64_t kMaxRecipeBytes = 1'000'000;
constexpr uint32_t kMaxImports = 200;             // of files, a circle included
constexpr uint64_t kMaxImportedValues = 100'000;  // each as often as it is put in

// The member of kSchemas that the leading comments name; empty if they name none.
Result<std::string> schema_of(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::string_view line = trimmed(take_line(text));
    if (!line.empty() && line[0] != '#') break;
    line = trimmed(line.substr(line.empty() ? 0 : 1));
    if (!line.starts_with(kSchemaMark)) continue;
    if (!out.empty()) return unsupported("two comments say modelopt-schema; expected one");
    out = trimmed(line.substr(kSchemaMark.size()));
    if (has_word(kSchemas, out)) continue;
    return unsupported("modelopt-schema: {}; expected one of quantizers", out);
  }
  return out;
}

// Puts `imports`, values by name, in their places. `left`: values that may still be put in.
Result<JsonValue> put_in(const JsonValue& value, const JsonValue& imports, uint64_t& left,
                         bool is_item = false) {
  if (!value.is_structured()) return value;
  const bool is_list = value.is_array();
  JsonValue out(value.type());
  if (const JsonValue* name = member(value, "$import")) {
    const std::string* text = text_of(value, "$import");
    const JsonValue* found = text == nullptr ? nullptr : member(imports, *text);
    if (found == nullptr) {
      return unsupported("$import: {}; expected a name of imports", name->dump());
    }
    const uint64_t count = found->flatten().size();
    if (count > left) {
      return unsupported("$import: {}: more than {} values are imported", name->dump(),
                         kMaxImportedValues);
    }
    left -= count;
    out = *found;
    if (is_item && value.size() == 1) return out;
    if (!out.is_object()) {
      return unsupported("$import: {} is a list; expected a mapping there", name->dump());
    }
  }
  for (const auto& [key, each] : value.items()) {
    if (key == "$import") continue;
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
  JsonValue imports, by_name, recipes = JsonValue::object();
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

class RecipeLoader {
 public:
  // `files`: gets those that are read, each once; the recipe first.
  RecipeLoader(const Context& context, std::vector<std::string>& files)
      : context_(context), files_(files) {}

  Result<JsonValue> load(const std::string& name) {
    if (const JsonValue* shipped = member(library().by_name, name)) return *shipped;
    CKPT_CHECK(context_.file_text != nullptr);
    auto read = context_.file_text(name, kMaxRecipeBytes);
    const std::string stem = fs::path(name).stem();
    if (!read && library().by_name.contains(stem)) read.error().hint = "--preset " + stem;
    CKPT_ASSIGN(const std::string text, std::move(read));
    files_ = {name};
    fs::path folder = fs::path(name).parent_path();
    folders_ = {{folder, ""}, {folder, kRecipeFolder}};
    for (folder = fs::absolute(name).parent_path(); folder.has_relative_path();
         folder = folder.parent_path()) {
      if (folder.filename() == kRecipeFolder) folders_.emplace_back(folder, "");
    }
    CKPT_ASSIGN(JsonValue out, in(name, resolved(text)));
    if (out.is_object()) return out;
    return unsupported("{}: {}; expected metadata and quantize", name,
                       out.is_array() ? "a list" : "one value");
  }

 private:
  // The text of the file that an import means.
  Result<std::string> read_file(const std::string& name) {
    const bool is_whole = name.ends_with(".yaml") || name.ends_with(".yml");
    for (const auto& [folder, below] : folders_) {
      for (const char* ending : {".yml", ".yaml"}) {
        const fs::path file = below / (is_whole ? name : name + ending);
        CKPT_ASSIGN(const bool is_there, is_trusted_file(folder, file));
        if (!is_there) continue;
        const std::string path = folder / file;
        if (std::ranges::find(files_, path) == files_.end()) files_.push_back(path);
        return context_.file_text(path, kMaxRecipeBytes);
      }
    }
    return misuse_hint("the recipe inside the modelopt_recipes it came with",
                       "neither next to the recipe nor one that ModelOpt 0.47 ships");
  }

  // The meaning of `name` in an import.
  Result<JsonValue> find_import(const std::string& name) {
    const fs::path path(name);
    if (name.empty() || path.is_absolute() || std::ranges::count(path, "..") != 0) {
      return unsupported("imports: '{}'; expected a path below modelopt_recipes", name);
    }
    const std::string own = name.substr(0, name.size() - (name.ends_with(".yaml") ? 5 : 0));
    if (const JsonValue* found = member(library().imports, own)) return *found;
    std::string text;  // none of a recipe that ships
    if (!library().recipes.contains(own)) {
      CKPT_ASSIGN(text, in(fmt::format("imports: '{}'", name), read_file(name)));
    }
    CKPT_ASSIGN(const std::string schema, in(name, schema_of(text)));
    if (schema.empty()) {
      return unsupported("imports: '{}' has no comment that says its modelopt-schema", name);
    }
    CKPT_ASSIGN(JsonValue out, in(name, resolved(text)));
    // A configuration that is a rule would be one where a list imports it.
    const bool is_rule = schema.ends_with(".QuantizeConfig") && out.contains("quantizer_name");
    const bool is_list = schema.ends_with("ListConfig");
    if (is_list ? out.is_array() : out.is_object() && !is_rule) return out;
    return unsupported("{}: contradicts its modelopt-schema; expected a {}{}", name,
                       is_list ? "list" : "mapping", is_rule ? " without quantizer_name" : "");
  }

  // The text as a value, without "imports" and "$import".
  Result<JsonValue> resolved(const std::string& text) {
    if (++resolved_ > kMaxImports) {
      return unsupported("imports go round in a circle, or are too many");
    }
    CKPT_ASSIGN(std::vector<JsonValue> documents, parse_strict_yaml(text));
    const size_t count = documents.size();
    if (count == 0 || count > 2 || (count == 2 && !documents[0].is_object())) {
      return unsupported("{} YAML documents; expected one, or imports and one", count);
    }
    JsonValue& body = documents.back();
    if (count == 2) {
      for (const auto& [key, value] : documents[0].items()) {
        if (key != "imports") return unsupported("'{}' before '---'; expected imports alone", key);
      }
      if (body.contains("imports")) {
        return unsupported("imports before and behind '---'; expected one of them");
      }
    }
    JsonValue imports;
    if (const JsonValue* declared = known(documents[0], "imports")) {
      if (!declared->is_object()) return unsupported("imports: expected names and paths");
      for (const auto& [name, path] : declared->items()) {
        if (!path.is_string()) return unsupported("imports: '{}': no path", name);
        CKPT_ASSIGN(imports[name], find_import(path));
      }
    }
    if (body.is_object()) body.erase("imports");
    return put_in(body, imports, left_);
  }

  const Context& context_;
  std::vector<std::string>& files_;
  std::vector<std::pair<fs::path, fs::path>> folders_;  // and what precedes an import's name
  uint32_t resolved_ = 0;
  uint64_t left_ = kMaxImportedValues;
};

constexpr std::string_view kMeasuring = "ModelOpt itself, which runs the model over data";
constexpr std::string_view kTruthWords = "true True TRUE false False FALSE";

// Values of keys that are neither a mapping, a list nor a name. Only numbers and truth values may
// be absent.
struct RecipeValue {
  std::string_view keys;
  std::string_view words;  // one of these, of others than truth values in any case; none: a number
  std::string_view expected, hint = {};
  double most = std::numeric_limits<float>::max();
};
constexpr RecipeValue kRecipeValues[] = {
    {"num_bits", "e2m1 e4m3", "e2m1 (NVFP4) or e4m3 (FP8)"},
    {"axis", "", "null: a scale for all", "", 0},
    // It weighs formats where a search chooses among them, and nothing here.
    {"effective_bits", "", "a number above 0, 16 at most", "", 16},
    {"constant_amax", "", "a number above zero, as 2688.0"},
    {"scale_bits", "e4m3", "e4m3; servers take no other 4-bit weights of ModelOpt"},
    {"-1", "16", "16; servers take NVFP4 in no other blocks"},
    {"type", "dynamic", "dynamic; static scales are found by a search",
     "a recipe without it and --search sweep, or --search four-over-six"},
    // The last two are how ModelOpt goes through the data, which changes nothing of what is stored.
    {"enable use_constant_amax skip_forward_without_activation_calib calib_mutates_weights",
     kTruthWords, "true or false"}};

Failure refused(std::string_view key, const JsonValue* value, std::string_view expected,
                std::string_view hint = {}) {
  const std::string declared = shorten((value == nullptr ? JsonValue() : *value).dump(), 60);
  return unsupported_hint(std::string(hint), "{}: {}; expected {}", key, declared, expected);
}

bool is_one_of(const JsonValue* value, std::string_view words) {
  return value != nullptr && value->is_string() &&
         has_word(words, value->get_ref<const std::string&>());
}

bool is_true(const JsonValue* value) { return is_one_of(value, "true True TRUE"); }

bool fits(const RecipeValue& rule, const JsonValue* value) {
  const bool is_truth = rule.words == kTruthWords, is_number = rule.words.empty();
  if (value == nullptr) return is_truth || is_number;
  if (value->is_null()) return is_number;
  const auto* text = value->get_ptr<const std::string*>();
  if (text == nullptr || is_truth) return is_one_of(value, rule.words);
  if (!is_number) return has_word(rule.words, lower_case(*text));
  // Digits, and a fraction: numbers that all readers of YAML read as the same.
  if (text->find_first_not_of("0123456789.") != text->npos || text->starts_with('.') ||
      (text->starts_with('0') && !text->starts_with("0."))) {
    return false;
  }
  const auto number = number_from<double>(*text);
  return number && std::isnormal(static_cast<float>(*number)) && *number <= rule.most;
}

// Fails on a key of `map` that is none of `list`, and on a value that does not fit its key.
Status check_fields(const JsonValue& map, const std::string& where, std::string_view list) {
  if (!map.is_object()) return refused(where, &map, "a mapping");
  const std::vector<std::string_view> keys = split_words(list);
  for (const auto& [key, value] : map.items()) {
    if (has_word(list, key)) continue;
    return refused(where + "." + key, &value,
                   fmt::format("no other keys than {}", fmt::join(keys, ", ")));
  }
  for (const std::string_view key : keys) {
    const auto* rule = std::ranges::find_if(
        kRecipeValues, [&](const RecipeValue& each) { return has_word(each.keys, key); });
    const JsonValue* value = member(map, key);
    if (rule == std::end(kRecipeValues) || fits(*rule, value)) continue;
    return refused(fmt::format("{}.{}", where, key), value, rule->expected, rule->hint);
  }
  return {};
}

Result<QuantizerForm> read_form(const JsonValue& cfg, const std::string& where) {
  if (cfg.is_array()) return refused(where, &cfg, "one mapping; two quantizers are not exported");
  CKPT_TRY(check_fields(
      cfg, where, "num_bits block_sizes axis effective_bits constant_amax use_constant_amax"));
  QuantizerForm out;
  const JsonValue* blocks = known(cfg, "block_sizes");
  const std::string place = where + ".block_sizes";
  if (lower_case(*text_of(cfg, "num_bits")) == "e2m1") {
    const JsonValue none = JsonValue::object();
    CKPT_TRY(check_fields(blocks == nullptr ? none : *blocks, place, "scale_bits -1 type"));
  } else if (blocks != nullptr && *blocks != JsonValue{{"-1", "128"}, {"-2", "128"}}) {
    return refused(place, blocks, "-1: 128 and -2: 128");
  } else {
    out.numbers = blocks == nullptr ? Scheme::kFp8Tensor : Scheme::kFp8Block;
  }
  if (const std::string* amax = text_of(cfg, "constant_amax")) {
    out.constant_amax = static_cast<float>(*number_from<double>(*amax));
  }
  out.is_cast = is_true(member(cfg, "use_constant_amax"));
  if (!out.is_cast || !out.constant_amax) return out;
  return refused(where, &cfg, "constant_amax or use_constant_amax");
}

Status read_rule(const JsonValue& item, const std::string& where, std::vector<QuantizerRule>& out) {
  CKPT_TRY(check_fields(item, where, "quantizer_name parent_class cfg enable"));
  const std::string* name = text_of(item, "quantizer_name");
  if (name == nullptr) return refused(where, &item, "a quantizer_name");
  const JsonValue *cfg = known(item, "cfg"), *enable = member(item, "enable");
  if (!item.contains("cfg") && enable == nullptr) return refused(where, &item, "cfg or enable");
  QuantizerRule rule{Glob(*name), std::nullopt, enable == nullptr || is_true(enable), false};
  if (cfg != nullptr && (rule.is_on || *cfg != JsonValue::object())) {
    CKPT_ASSIGN(rule.form, read_form(*cfg, where + ".cfg"));
  }
  const JsonValue* parent = known(item, "parent_class");
  rule.is_of_tables = is_one_of(parent, "nn.Embedding");
  // No layer that is exported is one of these.
  constexpr std::string_view kOthers = "nn.BatchNorm1d nn.BatchNorm2d nn.BatchNorm3d nn.LeakyReLU";
  if (!rule.is_on && is_one_of(parent, kOthers)) return {};
  if (parent != nullptr && !rule.is_of_tables) {
    return refused(where + ".parent_class", parent, "nn.Embedding");
  }
  out.push_back(std::move(rule));
  return {};
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
  CKPT_TRY(check_fields(algorithm, key, "method layerwise skip_forward_without_activation_calib"));
  const JsonValue* layerwise = member(algorithm, "layerwise");
  if (layerwise == nullptr || is_one_of(layerwise, kTruthWords)) return {};
  if (layerwise->is_string()) return refused(key + ".layerwise", layerwise, "true or false");
  return check_fields(*layerwise, key + ".layerwise", "enable calib_mutates_weights");
}

Result<std::vector<QuantizerRule>> read_rules(const JsonValue& recipe) {
  const JsonValue *metadata = member(recipe, "metadata"), *quantize = member(recipe, "quantize");
  if (metadata == nullptr) return unsupported("no metadata; expected a recipe");
  CKPT_TRY(check_fields(*metadata, "metadata", "recipe_type description"));
  const JsonValue* type = member(*metadata, "recipe_type");
  if (!is_one_of(type, "ptq")) {
    return refused("metadata.recipe_type", type, "ptq",
                   is_one_of(type, "auto_quantize") ? kMeasuring : std::string_view());
  }
  CKPT_TRY(check_fields(recipe, "recipe", "metadata quantize"));
  if (quantize == nullptr) return unsupported("no quantize; expected a recipe");
  CKPT_TRY(check_fields(*quantize, "quantize", "algorithm quant_cfg"));
  const JsonValue* algorithm = known(*quantize, "algorithm");
  if (algorithm != nullptr) CKPT_TRY(check_algorithm(*algorithm));
  const std::string place = "quantize.quant_cfg";
  const JsonValue& list = list_in(*quantize, "quant_cfg");
  if (list.empty()) return refused(place, member(*quantize, "quant_cfg"), "a list of rules");
  if (list[0] != JsonValue{{"quantizer_name", "*"}, {"enable", "false"}}) {
    return refused(place + "[0]", &list[0], "quantizer_name: '*' with enable: false");
  }
  std::vector<QuantizerRule> out;
  for (size_t i = 0; i < list.size(); ++i) {
    CKPT_TRY(read_rule(list[i], fmt::format("{}[{}]", place, i), out));
  }
  if (algorithm != nullptr || !quantize->contains("algorithm")) return out;
  return refused("quantize.algorithm", nullptr, "max");
}

}  // namespace

std::vector<std::string> shipped_recipes() {
  std::vector<std::string> out;
  for (const auto& [name, value] : library().by_name.items()) out.push_back(name);
  return out;
}

Result<QuantRecipe> read_quant_recipe(const std::string& name, const Context& context) {
  QuantRecipe out{name, {}, {}};
  CKPT_ASSIGN(const JsonValue recipe, in("preset", RecipeLoader(context, out.files).load(name)));
  if (out.files.size() > 1) {
    context.note("preset {}: its imports are of {}", name,
                 fmt::join(out.files.begin() + 1, out.files.end(), ", "));
  }
  CKPT_ASSIGN(out.rules, in("preset " + name, read_rules(recipe)));
  return out;
}

}  // namespace ckpt
