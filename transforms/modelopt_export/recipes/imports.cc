// Imports of a recipe put in their places.
//
//   {$import: NAME, key: value}    the mapping that NAME stands for, with these keys over its own
//   - $import: NAME                a list: its items; one item: itself
//
// An imported file declares its kind in a comment: "# modelopt-schema: modelopt....". Names that
// ModelOpt ships are its own; others are looked for in the folder of the recipe that was named, in
// modelopt_recipes there, and in the modelopt_recipes that contains the recipe. Nowhere else: a
// folder above may be another user's, and so may a file.
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

#include "core/json/json_read.h"
#include "core/model/trusted_path.h"
#include "core/readers/yaml.h"
#include "transforms/modelopt_export/recipes/recipe.h"

namespace ckpt {
namespace fs = std::filesystem;

// data/modelopt_recipes.yaml: files that ModelOpt ships for recipes to import, and its recipes.
extern const std::string_view kModeloptRecipes;

namespace {

// The kind of a file by its comment "modelopt-schema".
enum class SnippetKind : uint8_t { kNone, kQuantConfig, kAttributes, kEntry, kEntries };
constexpr std::string_view kSchemas[] = {"", "QuantizeConfig", "QuantizerAttributeConfig",
                                         "QuantizerCfgEntry", "QuantizerCfgListConfig"};

struct Snippet {
  SnippetKind kind = SnippetKind::kNone;
  JsonValue value;
};
using Snippets = std::map<std::string, Snippet, std::less<>>;

constexpr uint64_t kMaxRecipeBytes = 1'000'000;
constexpr uint32_t kMaxImportDepth = 16;
constexpr uint32_t kMaxImports = 200;
constexpr uint64_t kMaxImportedValues = 100'000;  // each as often as it is put in
constexpr std::string_view kRecipeFolder = "modelopt_recipes";
constexpr std::string_view kImport = "$import";
constexpr std::string_view kOwnLists = "layers/";  // of the library, which no recipe can import
constexpr std::string_view kSchemaMark = "modelopt-schema:";
constexpr std::string_view kSchemaFront = "modelopt.torch.quantization.config.";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The content of the leading comments.
Result<SnippetKind> schema_of(std::string_view text) {
  SnippetKind out = SnippetKind::kNone;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (line[0] != '#') break;
    line = trimmed(line.substr(1));
    if (!line.starts_with(kSchemaMark)) continue;
    line = trimmed(line.substr(kSchemaMark.size()));
    if (out != SnippetKind::kNone) {
      return fail(ErrorCode::kUnsupported, "two comments say modelopt-schema; expected one");
    }
    const bool is_named = line.starts_with(kSchemaFront) && line != kSchemaFront;
    const auto* const found = is_named
                                  ? std::ranges::find(kSchemas, line.substr(kSchemaFront.size()))
                                  : std::end(kSchemas);
    if (found == std::end(kSchemas)) {
      return fail(ErrorCode::kUnsupported, "modelopt-schema: {}; expected one of quantizers", line);
    }
    out = static_cast<SnippetKind>(found - kSchemas);
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

// Puts imports in their places.
class ImportPlaces {
 public:
  Result<JsonValue> put_in(const JsonValue& value, const Snippets& imports) {
    if (value.is_array()) return put_in_list(value, imports);
    if (!value.is_object()) return value;
    JsonValue out = JsonValue::object();
    if (const JsonValue* name = member(value, kImport)) {
      CKPT_ASSIGN(const Snippet* snippet, find(*name, imports));
      if (!snippet->value.is_object()) {
        return fail(ErrorCode::kUnsupported, "$import: {} is a list; expected a mapping there",
                    name->dump());
      }
      out = snippet->value;
    }
    for (const auto& [key, each] : value.items()) {
      if (key == kImport) continue;
      CKPT_ASSIGN(out[key], in(key, put_in(each, imports)));
    }
    return out;
  }

 private:
  // The values inserted at one place.
  Result<const Snippet*> find(const JsonValue& name, const Snippets& imports) {
    const auto found =
        name.is_string() ? imports.find(name.get_ref<const std::string&>()) : imports.end();
    if (found != imports.end()) {
      imported_values_ += count_values(found->second.value);
      if (imported_values_ <= kMaxImportedValues) return &found->second;
      return fail(ErrorCode::kUnsupported, "$import: {}: more than {} values are imported",
                  name.dump(), kMaxImportedValues);
    }
    return fail(ErrorCode::kUnsupported, "$import: {}; expected a name of imports", name.dump());
  }

  Result<JsonValue> put_in_list(const JsonValue& list, const Snippets& imports) {
    JsonValue out = JsonValue::array();
    for (const JsonValue& item : list) {
      const JsonValue* name = item.size() == 1 ? member(item, kImport) : nullptr;
      if (name == nullptr) {
        CKPT_ASSIGN(JsonValue made, put_in(item, imports));
        out.push_back(std::move(made));
        continue;
      }
      CKPT_ASSIGN(const Snippet* snippet, find(*name, imports));
      if (snippet->kind == SnippetKind::kEntries) {
        out.insert(out.end(), snippet->value.begin(), snippet->value.end());
      } else if (snippet->kind != SnippetKind::kQuantConfig) {
        out.push_back(snippet->value);
      } else {
        return fail(ErrorCode::kUnsupported, "$import: {} is not a quantizer rule; expected one",
                    name->dump());
      }
    }
    return out;
  }

  uint64_t imported_values_ = 0;
};

// ---- what ModelOpt ships -----------------------------------------------------------------------

SnippetKind kind_of(std::string_view path) {
  if (path.starts_with("configs/numerics/")) return SnippetKind::kAttributes;
  if (path.starts_with("configs/ptq/presets/")) return SnippetKind::kQuantConfig;
  if (path == "configs/ptq/units/base_disable_all") return SnippetKind::kEntry;
  const bool is_list = path.starts_with("configs/ptq/units/") || path.starts_with(kOwnLists) ||
                       path.ends_with(".quant_cfg");
  return is_list ? SnippetKind::kEntries : SnippetKind::kNone;
}

// By path below modelopt_recipes, without ".yaml".
const Snippets& library() {
  static const Snippets snippets = [] {
    Snippets out;
    const auto documents = parse_strict_yaml(kModeloptRecipes);
    CKPT_CHECK(documents && documents->size() == 1);
    const JsonValue& files = documents->front();
    while (out.size() < files.size()) {  // those that import nothing, then those that import these
      const size_t before = out.size();
      for (const auto& [path, value] : files.items()) {
        if (out.contains(path)) continue;
        auto made = ImportPlaces().put_in(value, out);
        if (made) out[path] = {kind_of(path), std::move(*made)};
      }
      CKPT_CHECK(out.size() > before);
    }
    return out;
  }();
  return snippets;
}

// nullptr: ModelOpt ships no such.
const Snippet* library_snippet(std::string_view path) {
  if (path.ends_with(".yaml")) path.remove_suffix(5);
  const auto found = path.starts_with(kOwnLists) ? library().end() : library().find(path);
  return found == library().end() ? nullptr : &found->second;
}

// A name with the ending is a file's.
bool is_recipe_file(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

// `name` as "nvfp4_default-kv_fp8": metadata and quantize.
std::optional<JsonValue> library_recipe(std::string_view name) {
  for (const auto& [path, snippet] : library()) {
    if (snippet.kind != SnippetKind::kNone || fs::path(path).filename() != name) continue;
    return JsonValue{{"metadata", {{"recipe_type", "ptq"}}}, {"quantize", snippet.value}};
  }
  return std::nullopt;
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
    CKPT_ASSIGN(Snippet made, in(name, resolved(text, 0)));
    if (made.value.is_object()) return LoadedRecipe{std::move(made.value), std::move(files_)};
    return fail(ErrorCode::kUnsupported, "{}: {}; expected metadata and quantize", name,
                made.value.is_array() ? "a list" : "one value");
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
  Result<Snippet> find_import(const std::string& name, uint32_t depth) {
    const fs::path path(name);
    const bool leaves = std::find(path.begin(), path.end(), "..") != path.end();
    if (name.empty() || path.is_absolute() || leaves) {
      return fail(ErrorCode::kUnsupported, "imports: '{}'; expected a path below modelopt_recipes",
                  name);
    }
    if (const Snippet* shipped = library_snippet(name)) return *shipped;
    CKPT_ASSIGN(const auto text, in(fmt::format("imports: '{}'", name), read_file(name)));
    if (text) return in(name, resolved(*text, depth + 1));
    return fail_with_hint(ErrorCode::kUsage, "the recipe inside the modelopt_recipes it came with",
                          "imports: '{}' is neither next to the recipe nor one that ModelOpt 0.47 "
                          "ships",
                          name);
  }

  // The text as a value, without "imports" and "$import".
  Result<Snippet> resolved(const std::string& text, uint32_t depth) {
    if (depth > kMaxImportDepth || ++resolved_ > kMaxImports) {
      return fail(ErrorCode::kUnsupported, "imports go round in a circle, or are too many");
    }
    Snippet out;
    if (depth > 0) {
      CKPT_ASSIGN(out.kind, schema_of(text));
    }
    CKPT_ASSIGN(std::vector<JsonValue> documents, parse_strict_yaml(text));
    const size_t count = documents.size();
    if (count == 0 || count > 2 || (count == 2 && !documents[0].is_object())) {
      return fail(ErrorCode::kUnsupported, "{} YAML documents; expected one, or imports and one",
                  count);
    }
    JsonValue& body = documents.back();
    if (count == 2) CKPT_TRY(check_header(documents[0], body));
    Snippets imports;
    if (const JsonValue* said = known(documents[0], "imports")) {
      CKPT_ASSIGN(imports, read_imports(*said, depth));
    }
    if (body.is_object()) body.erase("imports");
    CKPT_ASSIGN(out.value, places_.put_in(body, imports));
    return out;
  }

  // Of two documents the first has the imports.
  static Status check_header(const JsonValue& header, const JsonValue& body) {
    for (const auto& [key, value] : header.items()) {
      if (key == "imports") continue;
      return fail(ErrorCode::kUnsupported, "'{}' before '---'; expected imports alone", key);
    }
    if (member(body, "imports") == nullptr) return {};
    return fail(ErrorCode::kUnsupported, "imports before and behind '---'; expected one of them");
  }

  Result<Snippets> read_imports(const JsonValue& said, uint32_t depth) {
    if (!said.is_object()) {
      return fail(ErrorCode::kUnsupported, "imports: expected names and paths");
    }
    Snippets out;
    for (const auto& [name, path] : said.items()) {
      if (!path.is_string()) return fail(ErrorCode::kUnsupported, "imports: '{}': no path", name);
      const std::string& where = path.get_ref<const std::string&>();
      CKPT_ASSIGN(const Snippet made, find_import(where, depth));
      if (made.kind == SnippetKind::kNone) {
        return fail(ErrorCode::kUnsupported,
                    "imports: '{}' has no comment that says its modelopt-schema", where);
      }
      const bool is_list = made.kind == SnippetKind::kEntries;
      out[name] = made;
      if (is_list ? made.value.is_array() : made.value.is_object()) continue;
      return fail(ErrorCode::kUnsupported, "{}: not what its modelopt-schema says; expected a {}",
                  where, is_list ? "list" : "mapping");
    }
    return out;
  }

  const Context& context_;
  std::vector<std::pair<fs::path, fs::path>> folders_;  // and what precedes an import's name
  std::vector<fs::path> files_;                         // read, each once; the recipe's first
  uint32_t resolved_ = 0;
  ImportPlaces places_;
};

}  // namespace

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
