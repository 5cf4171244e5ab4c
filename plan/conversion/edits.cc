#include "plan/conversion/edits.h"

#include <algorithm>
#include <map>
#include <memory>

#include "core/base/nearest.h"
#include "core/base/numbers.h"
#include "core/base/utf8.h"
#include "core/io/folder.h"
#include "core/json/json_path.h"
#include "core/model/json_documents.h"
#include "formats/formats.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeights = ".safetensors";
constexpr std::string_view kForNew = "=json:VALUE or =text:VALUE for a new key";

// The documents of a folder; each is parsed once, when it is first asked for.
class Documents {
 public:
  static Result<Documents> read(const fs::path& folder, const ReadOptions& reading) {
    Documents out;
    CKPT_ASSIGN(out.checkpoint_.documents, read_documents(folder, reading));
    CKPT_ASSIGN(auto index, read_index_document(folder, reading));
    if (index) out.checkpoint_.set_document(std::move(*index));
    if (!out.checkpoint_.documents.empty()) return out;
    return misuse_hint("ckpt set FILE KEY=VALUE", "{}: holds no document of a model",
                       folder.string());
  }

  // Fails: kUsage: the document is absent; kCorrupt: it is not a JSON object.
  Result<const JsonText*> find(const std::string& file) {
    CKPT_ASSIGN(const Tree* tree, tree_of(file));
    return &tree->root;
  }
  // Returns the value, or null if it is absent. Fails: as find().
  Result<const JsonText*> find_value(const DocumentKey& at) {
    CKPT_ASSIGN(Tree * tree, tree_of(at.file));
    return tree->keyed.find(json_path(at.key));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const Document& document : checkpoint_.documents) {
      if (document.path.ends_with(".json")) out.push_back(document.path);
    }
    return out;
  }

  // The size of the vocabulary in config.json.
  std::optional<uint64_t> vocabulary() {
    const auto config = find("config.json");
    if (!config) return std::nullopt;
    const auto own = (*config)->find_whole("vocab_size");
    const JsonText* text = (*config)->find("text_config");
    return own || text == nullptr ? own : text->find_whole("vocab_size");
  }

 private:
  struct Tree {
    explicit Tree(JsonText json) : root(std::move(json)), keyed(root) {}
    JsonText root;
    KeyedJson keyed;
  };
  Result<Tree*> tree_of(const std::string& file) {
    if (const auto known = trees_.find(file); known != trees_.end()) return known->second.get();
    CKPT_ASSIGN(auto document, read_json(checkpoint_, file));
    if (document) {
      auto tree = std::make_unique<Tree>(std::move(document->root));
      return trees_.emplace(file, std::move(tree)).first->second.get();
    }
    return misuse_hint(nearest(file, names()), "the folder has no '{}'", file);
  }

  Checkpoint checkpoint_;
  std::map<std::string, std::unique_ptr<Tree>> trees_;
};

std::vector<std::string> keys_of(const JsonText& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.members()) out.push_back(key);
  return out;
}

// Finds the key elsewhere: in a nested object such as text_config, or in another document; else "".
std::string found_elsewhere(Documents& documents, const DocumentKey& at) {
  const JsonPath path = json_path(at.key);
  const auto in = [&](const std::string& file) -> std::string {
    const auto root = documents.find(file);
    if (!root) return {};
    const std::string before = file == "config.json" ? "" : file + ":";
    if (file != at.file && find_at(**root, path) != nullptr) return before + at.key;
    for (const auto& [key, value] : (*root)->members()) {
      const bool is_part =
          value.is_object() && (key.ends_with("_config") || key.ends_with("_parameters"));
      if (is_part && find_at(value, path) != nullptr) return before + key + "." + at.key;
    }
    return {};
  };
  std::string out = in(at.file);
  for (const std::string& file : documents.names()) {
    if (out.empty() && file != at.file && file.find("tokenizer.json") == file.npos) out = in(file);
  }
  return out;
}

// Fails if the key is absent and resembles, or occurs elsewhere as, another key; names that key.
Status check_new(Documents& documents, const JsonText& root, const DocumentKey& at) {
  const JsonPath path = json_path(at.key);
  std::string meant = found_elsewhere(documents, at);
  JsonPath before;
  for (size_t i = 0; meant.empty() && i < path.size(); ++i) {
    const JsonText* holder = find_at(root, before);
    if (holder == nullptr || !holder->is_object() || holder->find(path[i]) != nullptr) {
      before.push_back(path[i]);
      continue;
    }
    const std::string near = nearest(path[i], keys_of(*holder));
    const bool is_last = i + 1 == path.size();
    if (near.empty() && is_last) return {};
    if (near.empty()) {
      return misuse_hint(at.key + std::string(kForNew), "{}: has no '{}' to set '{}' in", at.file,
                         path[i], at.key);
    }
    JsonPath right = path;
    right[i] = near;
    for (const std::string& key : right) meant += (meant.empty() ? "" : ".") + key;
    if (at.file != "config.json") meant.insert(0, at.file + ":");
  }
  if (meant.empty()) return {};
  return misuse_hint(fmt::format("{}, or {}{}", meant, at.key, kForNew), "{}: has no '{}'", at.file,
                     at.key);
}

std::string kind_of(const JsonText& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.as_text()) return "a text";
  if (value.as_boolean()) return "true or false";
  return value.is_null() ? "null" : "a number";
}

// Whether a value looks like JSON but is invalid, such as "[1,2" or "01".
bool is_broken_json(const std::string& value) {
  return std::string_view("[{\"").find(value[0]) != std::string_view::npos ||
         value.find_first_not_of("0123456789") == value.npos;
}

// Turns "u32:5", the notation for a GGUF, into the number, because JSON has only one number type.
Result<std::string> without_type(const std::string& typed) {
  constexpr std::string_view kTypes[] = {"u8",  "i8",  "u16", "i16", "u32", "i32",
                                         "u64", "i64", "f32", "f64", "bool"};
  const size_t colon = typed.find(':');
  const std::string type = typed.substr(0, std::min(colon, typed.size()));
  if (colon == typed.npos || std::ranges::find(kTypes, type) == std::end(kTypes)) return typed;
  const std::string value = typed.substr(colon + 1);
  const auto json = JsonText::parse(value);
  const bool is_one = type == "bool"   ? json && json->as_boolean()
                      : type[0] == 'u' ? number_from<uint64_t>(value).has_value()
                      : type[0] == 'i' ? number_from<int64_t>(value).has_value()
                                       : json && kind_of(*json) == "a number";
  if (is_one) return "json:" + value;
  return misuse_hint("text:VALUE for a text", "'{}' is not a value of type {}", shorten(value),
                     type);
}

// Parses a value as JSON. A present key keeps its kind of value; for a new key, text that is not
// JSON becomes a string. `set_twice` fails if the JSON sets a key twice.
Result<JsonText> parse_value(const JsonText* old, const std::string& value, Status& set_twice) {
  if (value.starts_with("text:")) return JsonText::text(value.substr(5));
  const bool is_json = value.starts_with("json:");
  auto json = JsonText::parse(is_json ? value.substr(5) : value, &set_twice);
  if (is_json && !json) {
    return misuse("'{}' is not JSON", shorten(value.substr(5)));
  }
  if (is_json) return json;
  if (value.empty()) {
    return misuse_hint("text: for an empty text", "no value; expected one, or to remove the key");
  }
  const bool is_quoted = json && json->as_text().has_value();
  if (is_quoted) return json;
  if ((old == nullptr || old->is_null()) && !json && is_broken_json(value)) {
    return misuse_hint("text:VALUE for a text", "'{}' is not JSON", shorten(value));
  }
  if (old == nullptr || old->is_null()) return json ? *json : JsonText::text(value);
  if (old->as_text()) return JsonText::text(value);
  if (json && kind_of(*json) == kind_of(*old)) return json;
  return misuse_hint("json:VALUE for another kind", "'{}' is not {}, as it is now", shorten(value),
                     kind_of(*old));
}

Result<JsonText> parse_file(const JsonText* old, const std::string& path) {
  constexpr uint64_t kMaxFileBytes = uint64_t{32} << 20;
  CKPT_ASSIGN(const std::string text, step_context(nullptr, {}).file_text(path, kMaxFileBytes));
  if (!is_utf8(text)) return misuse("{}: is not text in UTF-8", path);
  if (old == nullptr || !(old->is_object() || old->is_array())) return JsonText::text(text);
  return in(path, JsonText::parse(text));
}

// Rejects token ids, alone or in a list, that are beyond the model's vocabulary.
Status check_tokens(Documents& documents, const DocumentKey& at, const JsonText& value) {
  const auto vocabulary = at.key.ends_with("_token_id") ? documents.vocabulary() : std::nullopt;
  if (!vocabulary) return {};
  std::vector<JsonText> ids = value.is_array() ? value.items() : std::vector<JsonText>{value};
  for (const JsonText& id : ids) {
    const auto number = id.as_whole();
    if (!number || *number < *vocabulary) continue;
    return misuse("{} is beyond the vocabulary; expected 0 to {}", *number, *vocabulary - 1);
  }
  return {};
}

// Returns as JSON the value that an edit sets.
Result<std::string> value_to_set(Documents& documents, const DocumentKey& at, std::string typed) {
  CKPT_ASSIGN(const JsonText* root, documents.find(at.file));
  CKPT_ASSIGN(const JsonText* old, documents.find_value(at));
  CKPT_SET(typed, in(fmt::format("{}: key '{}'", at.file, at.key), without_type(typed)));
  const bool is_forced = typed.starts_with("text:") || typed.starts_with("json:");
  if (old == nullptr && !is_forced) CKPT_TRY(check_new(documents, *root, at));
  const bool is_file = typed.starts_with('@');
  const std::string place = fmt::format("{}: key '{}'", at.file, at.key);
  Status set_twice;
  CKPT_ASSIGN(const JsonText value, in(place, is_file ? parse_file(old, typed.substr(1))
                                                      : parse_value(old, typed, set_twice)));
  if (!value.as_text()) CKPT_TRY(in(place, std::move(set_twice)));
  CKPT_TRY(in(place, check_numbers(value)));
  CKPT_TRY(in(place, check_tokens(documents, at, value)));
  return value.dump(0);
}

Status check_removed(Documents& documents, const DocumentKey& at) {
  CKPT_ASSIGN(const JsonText* root, documents.find(at.file));
  CKPT_ASSIGN(const JsonText* value, documents.find_value(at));
  if (value != nullptr) return {};
  const std::string elsewhere = found_elsewhere(documents, at);
  const std::string near = elsewhere.empty() ? nearest(at.key, keys_of(*root)) : elsewhere;
  return misuse_hint(near, "{}: has no '{}' to remove", at.file, at.key);
}

// Collects edits into one step per file, in the order in which files were first named.
class StepsByFile {
 public:
  Status add(const std::string& file, std::string_view option, std::string value) {
    auto found = std::ranges::find_if(files_, [&](const auto& each) { return each.first == file; });
    if (found == files_.end()) {
      const bool is_weights = file.ends_with(kWeights);
      const std::string_view name = is_weights || file.empty() ? "metadata" : "config";
      found = files_.insert(files_.end(), {file, Step{find_transform(name), {}}});
      CKPT_CHECK(found->second.transform != nullptr);
      if (!file.empty()) CKPT_TRY(add_option(found->second, "file", file));
    }
    return add_option(found->second, option, std::move(value));
  }
  std::vector<Step> take() {
    std::vector<Step> out;
    for (auto& [file, step] : files_) out.push_back(std::move(step));
    return out;
  }

 private:
  std::vector<std::pair<std::string, Step>> files_;
};

Status add_document_edit(Documents& documents, const KeyEdit& edit, StepsByFile& steps) {
  const DocumentKey at = document_key(edit.key);
  const bool is_weights = at.file.ends_with(kWeights);
  if (!edit.sets) {
    if (!is_weights) CKPT_TRY(check_removed(documents, at));
    return steps.add(at.file, "remove", at.key);
  }
  std::string value = edit.value;
  if (!is_weights) CKPT_SET(value, value_to_set(documents, at, edit.value));
  return steps.add(at.file, "set", fmt::format("{}={}", at.key, value));
}

Status check_once(const std::vector<KeyEdit>& edits, bool in_folder) {
  std::map<std::string, bool> seen;
  for (const KeyEdit& edit : edits) {
    const DocumentKey at = in_folder ? document_key(edit.key) : DocumentKey{"", edit.key};
    const auto [place, is_first] = seen.emplace(at.file + ":" + at.key, edit.sets);
    if (is_first) continue;
    return misuse("key '{}' is {}; expected one of them", edit.key,
                  place->second != edit.sets ? "set and removed"
                  : edit.sets                ? "set twice"
                                             : "removed twice");
  }
  return {};
}

}  // namespace

DocumentKey document_key(const std::string& typed) {
  const size_t colon = typed.find(':');
  const std::string file = typed.substr(0, colon);
  const bool is_file = colon != typed.npos && (file.ends_with(".json") || file.ends_with(kWeights));
  return is_file ? DocumentKey{file, typed.substr(colon + 1)} : DocumentKey{"config.json", typed};
}

Result<std::vector<Step>> steps_of_edits(const fs::path& path, const std::vector<KeyEdit>& edits,
                                         const ReadOptions& reading) {
  const bool in_folder = is_folder(path);
  CKPT_TRY(check_once(edits, in_folder));
  StepsByFile steps;
  if (!in_folder) {
    for (const KeyEdit& edit : edits) {
      CKPT_TRY(steps.add("", edit.sets ? "set" : "remove",
                         edit.sets ? fmt::format("{}={}", edit.key, edit.value) : edit.key));
    }
    return steps.take();
  }
  CKPT_ASSIGN(Documents documents, Documents::read(path, reading));
  for (const KeyEdit& edit : edits) CKPT_TRY(add_document_edit(documents, edit, steps));
  return steps.take();
}

}  // namespace ckpt
