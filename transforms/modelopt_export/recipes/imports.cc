// Imports of a recipe put in their places.
//
//   {$import: NAME, key: value}    the mapping that NAME stands for, with these keys over its own
//   - $import: NAME                a list: its items; a mapping: itself
//
// An imported file declares its kind in a comment: "# modelopt-schema: modelopt....". Names that
// ModelOpt ships are its own; others are looked for in the folder of the recipe that was named, in
// modelopt_recipes there, and in the modelopt_recipes that contains the recipe. Nowhere else: a
// folder above may be another user's, and so may a file.
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

#include "core/base/lines.h"
#include "core/base/words.h"
#include "core/json/json_read.h"
#include "core/model/trusted_path.h"
#include "core/readers/yaml.h"
#include "transforms/modelopt_export/recipes/recipe.h"

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
    if (line.empty()) continue;
    if (line[0] != '#') break;
    line = trimmed(line.substr(1));
    if (!line.starts_with(kSchemaMark)) continue;
    line = trimmed(line.substr(kSchemaMark.size()));
    if (!out.empty()) return bad_import("two comments say modelopt-schema; expected one");
    if (line.starts_with(kSchemaFront)) out = line.substr(kSchemaFront.size());
    if (has_word(kSchemas, out)) continue;
    return bad_import("modelopt-schema: {}; expected one of quantizers", line);
  }
  return out;
}

uint64_t count_values(const JsonValue& value) {
  uint64_t out = 1;
  if (value.is_structured()) {
    for (const JsonValue& each : value) out += count_values(each);
  }
  return out;
}

// Puts imports, values by name, in their places.
class ImportPlaces {
 public:
  Result<JsonValue> put_in(const JsonValue& value, const JsonValue& imports, bool is_item = false) {
    if (!value.is_structured()) return value;
    const bool is_list = value.is_array();
    JsonValue out = is_list ? JsonValue::array() : JsonValue::object();
    if (const JsonValue* name = member(value, kImport)) {
      CKPT_ASSIGN(out, find(*name, imports));
      if (is_item && value.size() == 1) return out;
      if (!out.is_object()) {
        return bad_import("$import: {} is a list; expected a mapping there", name->dump());
      }
    }
    for (const auto& [key, each] : value.items()) {
      if (key == kImport) continue;
      auto made = put_in(each, imports, is_list);
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

 private:
  Result<JsonValue> find(const JsonValue& name, const JsonValue& imports) {
    const auto* text = name.get_ptr<const std::string*>();
    const JsonValue* found = text == nullptr ? nullptr : member(imports, *text);
    if (found == nullptr) return bad_import("$import: {}; expected a name of imports", name.dump());
    imported_values_ += count_values(*found);
    if (imported_values_ <= kMaxImportedValues) return *found;
    return bad_import("$import: {}: more than {} values are imported", name.dump(),
                      kMaxImportedValues);
  }

  uint64_t imported_values_ = 0;
};

// Files that ModelOpt ships, by path below modelopt_recipes, without ".yaml".
struct Library {
  JsonValue imports = JsonValue::object(), recipes = JsonValue::object();
};
const Library& library() {
  static const Library shipped = [] {
    Library out;
    const auto documents = parse_strict_yaml(kModeloptRecipes);
    CKPT_CHECK(documents.has_value());
    for (const JsonValue& document : *documents) {  // the last has the recipes
      out.imports.update(out.recipes);
      auto made = ImportPlaces().put_in(document, out.imports);
      CKPT_CHECK(made.has_value());
      out.recipes = std::move(*made);
    }
    return out;
  }();
  return shipped;
}

// `name` as "nvfp4_default-kv_fp8": metadata and quantize.
std::optional<JsonValue> library_recipe(std::string_view name) {
  for (const auto& [path, value] : library().recipes.items()) {
    if (fs::path(path).filename() != name) continue;
    return JsonValue{{"metadata", {{"recipe_type", "ptq"}}}, {"quantize", value}};
  }
  return std::nullopt;
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
    if (!read && library_recipe(stem)) read.error().hint = fmt::format("--preset {}", stem);
    CKPT_ASSIGN(const std::string text, std::move(read));
    find_folders(name);
    CKPT_ASSIGN(JsonValue made, in(name, resolved(text, 0)));
    if (made.is_object()) return LoadedRecipe{std::move(made), std::move(files_)};
    return bad_import("{}: {}; expected metadata and quantize", name,
                      made.is_array() ? "a list" : "one value");
  }

 private:
  void find_folders(const fs::path& recipe) {
    const fs::path own = recipe.parent_path();
    files_ = {recipe};
    folders_ = {{own, ""}, {own, kRecipeFolder}};
    for (fs::path folder = fs::absolute(recipe).parent_path(); folder.has_relative_path();
         folder = folder.parent_path()) {
      if (folder.filename() == kRecipeFolder) folders_.emplace_back(folder, "");
    }
  }

  // The text of the file that an import means.
  Result<std::optional<std::string>> read_file(const std::string& name) {
    const bool has_ending = is_recipe_file(name);
    for (const auto& [folder, below] : folders_) {
      for (const char* ending : {".yml", ".yaml"}) {
        const fs::path file = below / (has_ending ? name : name + ending);
        CKPT_ASSIGN(const bool is_there, is_trusted_file(folder, file));
        if (!is_there) continue;
        const fs::path path = folder / file;
        CKPT_ASSIGN(std::string text, context_.file_text(path, kMaxRecipeBytes));
        if (std::ranges::find(files_, path) == files_.end()) files_.push_back(path);
        return std::optional(std::move(text));
      }
    }
    return std::optional<std::string>();
  }

  // The meaning of `name` in an import.
  Result<JsonValue> find_import(const std::string& name, uint32_t depth) {
    const fs::path path(name);
    if (name.empty() || path.is_absolute() || std::ranges::count(path, "..") != 0) {
      return bad_import("imports: '{}'; expected a path below modelopt_recipes", name);
    }
    const Library& shipped = library();
    const std::string own = name.substr(0, name.size() - (name.ends_with(".yaml") ? 5 : 0));
    if (const JsonValue* found = member(shipped.imports, own)) return *found;
    std::string schema;
    JsonValue out;
    if (!shipped.recipes.contains(own)) {
      CKPT_ASSIGN(const auto text, in(fmt::format("imports: '{}'", name), read_file(name)));
      if (!text) {
        return fail_with_hint(
            ErrorCode::kUsage, "the recipe inside the modelopt_recipes it came with",
            "imports: '{}' is neither next to the recipe nor one that ModelOpt 0.47 ships", name);
      }
      CKPT_ASSIGN(schema, in(name, schema_of(*text)));
      CKPT_ASSIGN(out, in(name, resolved(*text, depth + 1)));
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
    if (count == 2) CKPT_TRY(check_header(documents[0], body));
    JsonValue imports = JsonValue::object();
    if (const JsonValue* said = known(documents[0], "imports")) {
      if (!said->is_object()) return bad_import("imports: expected names and paths");
      for (const auto& [name, path] : said->items()) {
        if (!path.is_string()) return bad_import("imports: '{}': no path", name);
        CKPT_ASSIGN(imports[name], find_import(path.get_ref<const std::string&>(), depth));
      }
    }
    if (body.is_object()) body.erase("imports");
    return places_.put_in(body, imports);
  }

  // Of two documents the first has the imports.
  static Status check_header(const JsonValue& header, const JsonValue& body) {
    for (const auto& [key, value] : header.items()) {
      if (key != "imports") return bad_import("'{}' before '---'; expected imports alone", key);
    }
    if (member(body, "imports") == nullptr) return {};
    return bad_import("imports before and behind '---'; expected one of them");
  }

  const Context& context_;
  std::vector<std::pair<fs::path, fs::path>> folders_;  // and what precedes an import's name
  std::vector<fs::path> files_;                         // read, each once; the recipe's first
  uint32_t resolved_ = 0;
  ImportPlaces places_;
};

}  // namespace

std::vector<std::string> shipped_recipes() {
  std::vector<std::string> out;
  for (const auto& [path, value] : library().recipes.items()) {
    out.push_back(fs::path(path).filename());
  }
  return out;
}

Result<LoadedRecipe> load_quant_recipe(const std::string& name, const Context& context) {
  if (!is_recipe_file(name)) {
    if (auto shipped = library_recipe(name)) return LoadedRecipe{std::move(*shipped), {}};
  }
  CKPT_ASSIGN(LoadedRecipe out, RecipeLoader(context).load(name));
  std::vector<std::string> imports;
  for (const fs::path& file : out.files | std::views::drop(1)) imports.push_back(file.string());
  if (!imports.empty()) {
    context.note(fmt::format("preset {}: its imports are of {}", name, fmt::join(imports, ", ")));
  }
  return out;
}

}  // namespace ckpt
