// config: sets and removes members of config.json, or of another JSON document.
//
//   config:set=text_config.rope_theta=1e6          a path of keys; numbers step into arrays
//   config:set=/a.b/c="x"                          as JSON pointer, where a key has a dot in it
//   config:remove=quantization_config,file=config.json
//
// Objects on the way are made. The value is JSON, so text stands in double quotes; a number keeps
// the spelling it is given in.

#include <algorithm>
#include <charconv>

#include "core/model/json_documents.h"
#include "core/model/transform.h"

namespace ckpt {
namespace {

constexpr OptionRule kConfigOptions[] = {
    option::pair("set", "PATH=JSON", "the member to set: path.to.key=value, text in double quotes")
        .repeated(),
    option::text("remove", "PATH", "the member to take out").repeated(),
    option::text("file", "NAME", "the document").by_default("config.json"),
};

using Path = std::vector<std::string>;

Path split_path(std::string_view text) {
  const bool is_pointer = text.starts_with('/');
  if (is_pointer) text.remove_prefix(1);
  Path path;
  for (;;) {
    const size_t end = std::min(text.find(is_pointer ? '/' : '.'), text.size());
    path.emplace_back(text.substr(0, end));
    if (end == text.size()) return path;
    text.remove_prefix(end + 1);
  }
}

// An item of an array; null when `key` is no index of it.
JsonText* item_at(JsonText& array, const std::string& key) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool sound = error == std::errc() && end == key.data() + key.size();
  return sound && index < array.items().size() ? &array.items()[index] : nullptr;
}

// What holds the last key of `path`; makes objects on the way when `make` says so. Null when the
// way is barred or absent.
JsonText* walk(JsonText& root, const Path& path, bool make) {
  JsonText* at = &root;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    JsonText* next = at->is_array() ? item_at(*at, path[i]) : at->find(path[i]);
    if (next == nullptr && make && at->is_object()) {
      at->set(path[i], JsonText::object());
      next = at->find(path[i]);
    }
    if (next == nullptr || !(next->is_object() || next->is_array())) return nullptr;
    at = next;
  }
  return at;
}

// The step with its value as text, in quotes that a shell leaves alone.
std::string typed_step(const std::string& name, const std::string& value) {
  std::string out = "--step 'config:set=";
  for (const char c : name + "=" + JsonText::text(value).dump(0)) {
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

// Where the path ends and the value begins: the first '=', as keys with one are not known.
Status set_member(JsonText& root, const std::string& text) {
  const auto [name, json] = split_pair(text);
  auto value = JsonText::parse(json);
  if (!value) {
    return fail_with_hint(ErrorCode::kUsage, typed_step(name, json),
                          "set={}: the value is no JSON; text stands in double quotes", text);
  }
  const Path path = split_path(name);
  JsonText* holder = walk(root, path, true);
  if (holder != nullptr && holder->is_object()) {
    holder->set(path.back(), std::move(*value));
    return {};
  }
  JsonText* item = holder == nullptr ? nullptr : item_at(*holder, path.back());
  if (item == nullptr) {
    return fail(ErrorCode::kUsage, "set={}: something on the way to '{}' is no object", text, name);
  }
  *item = std::move(*value);
  return {};
}

Status remove_member(JsonText& root, const std::string& name) {
  const Path path = split_path(name);
  JsonText* holder = walk(root, path, false);
  if (holder != nullptr && holder->is_array()) {
    return fail(ErrorCode::kUsage, "remove={}: items of arrays are not removed; set the array",
                name);
  }
  if (holder != nullptr) holder->remove(path.back());
  return {};
}

Result<Checkpoint> edit_config(Checkpoint checkpoint, const OptionValues& options, const Context&) {
  const std::string file = options.text("file");
  CKPT_ASSIGN(std::optional<JsonDocument> document, read_json(checkpoint, file));
  if (!document) {
    return fail(ErrorCode::kUsage, "there is no document '{}'", file);
  }
  if (!options.has("set") && !options.has("remove")) {
    return fail(ErrorCode::kUsage, "nothing to set or remove");
  }
  for (const OptionValues::Value& edit : options.given()) {
    if (edit.rule->name == "set") CKPT_TRY(set_member(document->root, edit.text));
    if (edit.rule->name == "remove") CKPT_TRY(remove_member(document->root, edit.text));
  }
  write_json(checkpoint, file, *document);
  return checkpoint;
}

}  // namespace

extern constinit const Transform kConfigEdit{"config",
                                             "sets and removes members of a JSON document",
                                             kConfigOptions, edit_config, Touches::kDocuments};

}  // namespace ckpt
