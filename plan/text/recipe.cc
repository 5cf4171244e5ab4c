#include "plan/text/recipe.h"

#include <algorithm>

#include "core/base/nearest.h"
#include "core/base/url_secrets.h"
#include "core/base/words.h"
#include "core/io/bytes.h"
#include "core/json/json_edit.h"
#include "core/readers/yaml.h"
#include "plan/conversion/option_table.h"
#include "plan/text/other_words.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxRecipeFileBytes = uint64_t{16} << 20;

Result<std::string> text_of(const JsonText& json, std::string_view key) {
  auto text = json.as_text();
  const bool is_c_text = text && text->find('\0') == std::string::npos;  // no NUL, as in a path
  if (is_c_text && !text->empty()) return std::move(*text);
  return misuse("\"{}\": {}; expected text", key, json.dump(0).substr(0, 80));
}

Result<std::string> option_text(const OptionRule& rule, const JsonText& value) {
  if (const auto text = value.as_text()) {
    return *text;
  }
  if (const auto boolean = value.as_boolean()) return std::string(*boolean ? "yes" : "no");
  if (value.kind() == JsonText::Kind::kToken && !value.is_null()) return value.token();
  return misuse("\"{}\": {}; expected text, a number, true or false", rule.name,
                value.dump(0).substr(0, 80));
}

// Reads one value, several in an array, or members of an object, each as "key=value".
Status read_option(Step& step, const std::string& key, const JsonText& value) {
  const Transform& transform = *step.transform;
  const OptionRule* rule = find_rule(transform.options, key);
  if (rule == nullptr) return unknown_option(transform.options, transform.name, key);
  if (value.is_array()) {
    if (!rule->repeats && value.items().size() > 1) {
      return misuse("step '{}': \"{}\" takes one value", transform.name, key);
    }
    for (const JsonText& item : value.items()) {
      CKPT_ASSIGN(std::string text, option_text(*rule, item));
      CKPT_TRY(add_option(step, key, std::move(text)));
    }
    return {};
  }
  if (value.is_object() && rule->repeats && rule->kind == ValueKind::kPair) {
    const bool as_json = rule->value_name.ends_with("JSON");
    for (const auto& [name, member] : value.members()) {
      std::string text = member.dump(0);
      if (!as_json) CKPT_SET(text, option_text(*rule, member));
      CKPT_TRY(add_option(step, key, fmt::format("{}={}", name, text)));
    }
    return {};
  }
  CKPT_ASSIGN(std::string text, option_text(*rule, value));
  return add_option(step, key, std::move(text));
}

Result<Step> read_step(const JsonText& json) {
  if (const auto text = json.as_text()) return parse_step(*text);
  const auto name = json.find_text("name");
  if (!name) {
    return misuse("{}; expected {{\"name\": STEP, ...}}", json.dump(0).substr(0, 80));
  }
  CKPT_ASSIGN(Step step, parse_step(*name));
  for (const auto& [key, value] : json.members()) {
    if (key != "name") CKPT_TRY(read_option(step, key, value));
  }
  return step;
}

// Returns the items of an array; a recipe may write a single value without the array.
std::vector<JsonText> items_of(const JsonText& value) {
  return value.is_array() ? value.items() : std::vector<JsonText>{value};
}

Status read_also(const JsonText& json, Recipe& recipe) {
  for (const JsonText& item : items_of(json)) {
    const auto typed = item.as_text();  // OUT=TYPE, as with --also
    if (const size_t equals = typed ? typed->rfind('=') : 0; equals != 0 && equals != typed->npos) {
      recipe.also.emplace_back(typed->substr(0, equals), typed->substr(equals + 1));
      continue;
    }
    const auto out = item.find_text("out"), to = item.find_text("to");
    if (!out || !to || item.members().size() != 2) {
      return misuse("{}; expected {{\"out\": OUT, \"to\": TYPE}}", item.dump(0).substr(0, 80));
    }
    recipe.also.emplace_back(*out, *to);
  }
  return {};
}

// Reads one text, several in an array, or {"GLOB": "TYPE"}.
Status read_rules(const std::string& name, const JsonText& value, Recipe& recipe) {
  if (value.is_object() && name == "tensor-type") {
    for (const auto& [glob, type] : value.members()) {
      CKPT_ASSIGN(const std::string text, text_of(type, name));
      recipe.options.emplace_back(name, fmt::format("{}={}", glob, text));
    }
    return {};
  }
  for (const JsonText& item : items_of(value)) {
    CKPT_ASSIGN(std::string text, text_of(item, name));
    recipe.options.emplace_back(name, std::move(text));
  }
  return {};
}

// Reads a key that is the name of a command-line option.
Status read_field(const ConvertOption& option, const JsonText& value, Recipe& recipe) {
  const std::string name(option.name);
  const auto add = [&](std::string text) { recipe.options.emplace_back(name, std::move(text)); };
  if (!option.takes_value()) {
    const auto flag = value.as_boolean();
    if (!flag) {
      return misuse("\"{}\": {}; expected true or false", name, value.dump(0).substr(0, 80));
    }
    if (*flag) add("yes");
    return {};
  }
  if (option.repeats()) return read_rules(name, value, recipe);
  const bool is_number = value.kind() == JsonText::Kind::kToken && !value.as_text();
  if (is_number && has_word("SIZE BITS N", option.value_name()) && !value.is_null()) {
    add(value.token());  // a number without quotes, as in "target-bits": 4.6
    return {};
  }
  CKPT_ASSIGN(std::string text, text_of(value, name));
  if (option.is_path(text)) CKPT_TRY(refuse_url_secrets(text));
  add(std::move(text));
  return {};
}

Status read_list(const std::string& key, const JsonText& value, Recipe& recipe) {
  if (key == "also") return in("\"also\"", read_also(value, recipe));
  for (const JsonText& item : items_of(value)) {
    if (key == "for") {
      CKPT_ASSIGN(recipe.profiles.emplace_back(), text_of(item, key));
    } else {
      CKPT_ASSIGN(recipe.steps.emplace_back(), in("\"steps\"", read_step(item)));
    }
  }
  return {};
}

// Looks `key` up as a recipe key of another program, then as an option of a command line.
std::optional<OtherWord> other_key(const std::string& key, const std::string& value) {
  const auto has = [](std::string_view name) {
    return find_kept_option(name.substr(2), OptionPersistence::kRecipe) != nullptr ||
           name == "--outfile";
  };
  auto row = other_word({fmt::format("\"{}\"", key), value, "convert"}, has);
  return row ? row : other_word({"--" + key, value, "convert"}, has);
}

// Renames a key that ckpt accepts from other programs to ckpt's own key.
JsonText::Member own_member(const JsonText::Member& typed) {
  const auto& [key, value] = typed;
  if (find_kept_option(key, OptionPersistence::kRecipe) != nullptr) return typed;
  const auto row = other_key(key, value.as_text().value_or(""));
  if (!row || !row->is_same) return typed;
  std::string ours = row->ours;
  std::erase_if(ours, [&](char c) { return c == '"'; });
  ours.erase(0, ours.find_first_not_of('-'));
  if (ours == "outfile") ours = "out";
  return {ours, row->value.empty() ? value : JsonText::text(row->value)};
}

Failure unknown_key(const std::string& key) {
  if (const auto row = other_key(key, "")) {
    std::string hint = row->ours.empty() ? "the recipe without it" : row->ours;
    if (hint.starts_with("--")) hint = fmt::format("\"{}\"", hint.substr(2, hint.find(' ') - 2));
    return misuse_hint(std::move(hint), "key \"{}\": {}", key,
                       row->why.empty() ? "a word of other programs" : row->why);
  }
  std::vector<std::string> keys;
  for (const ConvertOption& option : convert_options()) {
    if (option.kept >= OptionPersistence::kRecipe) keys.emplace_back(option.spelling());
  }
  const std::string near = nearest(key, keys);
  return misuse_hint(near.empty() ? "one of those" : fmt::format("\"{}\"", near),
                     "key \"{}\"; expected one of {}", key, fmt::join(keys, ", "));
}

Status read_key(const JsonText::Member& typed, Recipe& recipe) {
  const auto [name, value] = own_member(typed);
  const ConvertOption* option = find_kept_option(name, OptionPersistence::kRecipe);
  if (option == nullptr) return unknown_key(typed.first);
  const std::string key(option->spelling());
  if (key == "steps" || key == "also" || key == "for") return read_list(key, value, recipe);
  if (key != "in" && key != "out" && key != "to") return read_field(*option, value, recipe);
  CKPT_ASSIGN(const std::string text, text_of(value, key));
  if (key == "to") {
    recipe.to = text;
  } else {
    CKPT_TRY(refuse_url_secrets(text));
    (key == "in" ? recipe.in : recipe.out) = text;
  }
  return {};
}

// Reads a recipe whose paths are relative to `folder`.
Result<Recipe> recipe_of(const JsonText& root, const fs::path& folder) {
  if (!root.is_object()) return misuse("no JSON object");
  Recipe recipe;
  for (const JsonText::Member& member : root.members()) CKPT_TRY(read_key(member, recipe));
  const auto resolve = [&](const std::string& path) { return path_from(folder, path); };
  for (fs::path* path : {&recipe.in, &recipe.out}) {
    if (!path->empty()) *path = resolve(path->string());
  }
  for (auto& [out, to] : recipe.also) out = resolve(out.string());
  for (auto& [name, value] : recipe.options) {
    if (find_convert_option(name)->is_path(value)) value = resolve(value);
  }
  recipe.steps = with_paths(std::move(recipe.steps), resolve);
  return recipe;
}

// Whether a recipe is YAML: by its ending or, on stdin, as JSON begins with a brace or comment.
bool is_yaml(const fs::path& path, std::string_view text) {
  if (path != "-") return has_ending(path.native(), ".yaml") || has_ending(path.native(), ".yml");
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at != text.npos && text[at] != '{' && text[at] != '/' && text[at] != '[';
}

Result<JsonText> parse_root(const fs::path& path, const std::string& text) {
  if (!is_yaml(path, text)) return JsonText::parse(without_comments(text));
  CKPT_ASSIGN(const std::string json, yaml_as_json(text));
  return JsonText::parse(json);
}

// Fails: kUsage if stdin exceeds the limit; kIo.
Result<std::string> read_stdin(uint64_t limit_bytes) {
  std::string text;
  char piece[64 * 1024];
  while (const size_t count = std::fread(piece, 1, sizeof piece, stdin)) {
    text.append(piece, count);
    if (text.size() > limit_bytes) {
      return misuse("stdin: more than {} bytes; expected a recipe", limit_bytes);
    }
  }
  if (std::ferror(stdin) != 0) return fail(ErrorCode::kIo, "stdin: cannot be read");
  return text;
}

}  // namespace

Result<Recipe> parse_recipe(const fs::path& path, const std::string& text) {
  auto root = parse_root(path, text);
  if (!root) {
    Error error = std::move(root.error());
    error.code = ErrorCode::kUsage;
    return Failure(std::move(error));
  }
  CKPT_TRY(refuse_url_logins(*root));
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return recipe_of(*root, folder);
}

Result<std::vector<fs::path>> preset_files(const Recipe& recipe) {
  std::vector<std::string> presets;
  for (const auto& [name, value] : recipe.options) {
    if (name == "preset") presets.push_back(value);
  }
  for (const Step& step : recipe.steps) {
    for (std::string& value : step.options.all("preset")) presets.push_back(std::move(value));
  }
  const Transform* const exporting = find_transform("export");
  CKPT_CHECK(exporting != nullptr);
  std::vector<std::string> notes;
  std::vector<fs::path> out;
  for (const std::string& preset : presets) {
    if (!find_rule(exporting->options, "preset")->is_path(preset)) continue;
    CKPT_ASSIGN(const auto read, read_quant_recipe(preset, step_context(&notes, {})));
    for (const std::string& file : read.files) {
      if (std::ranges::find(out, fs::path(file)) == out.end()) out.push_back(file);
    }
  }
  return out;
}

std::string without_comments(std::string json) {
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    if (in_text) {
      if (json[i] == '\\')
        ++i;
      else if (json[i] == '"')
        in_text = false;
      continue;
    }
    in_text = json[i] == '"';
    if (json[i] != '/' || i + 1 == json.size()) continue;
    size_t end = i;
    if (json[i + 1] == '/') {
      end = std::min(json.find('\n', i), json.size());
    } else if (json[i + 1] == '*') {
      const size_t close = json.find("*/", i + 2);
      end = close == json.npos ? json.size() : close + 2;
    }
    if (end == i) continue;
    const auto at = [&](size_t place) { return json.begin() + static_cast<ptrdiff_t>(place); };
    std::replace_if(at(i), at(end), [](char c) { return c != '\n'; }, ' ');
    i = end - 1;
  }
  return json;
}

Result<Recipe> read_recipe(const fs::path& path) {
  if (path == "-") {
    CKPT_ASSIGN(const std::string text, read_stdin(kMaxRecipeFileBytes));
    return in("stdin", parse_recipe(path, text));
  }
  CKPT_ASSIGN(const std::string text, read_small(path, kMaxRecipeFileBytes));
  return in(path.string(), parse_recipe(path, text));
}

Status refuse_url_logins(const JsonText& json) {
  if (const auto text = json.as_text()) CKPT_TRY(refuse_url_login(*text));
  for (const JsonText& item : json.items()) CKPT_TRY(refuse_url_logins(item));
  for (const auto& [name, value] : json.members()) {
    CKPT_TRY(refuse_url_login(name));
    CKPT_TRY(refuse_url_logins(value));
  }
  return {};
}

}  // namespace ckpt
