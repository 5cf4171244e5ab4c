// config: sets and removes members of config.json, or of another JSON document.
//
// config:set=text_config.rope_theta=1e6          a path in the syntax of core/json/json_path.h
//   config:remove=quantization_config,file=config.json
//
// Missing objects on the path are made. The value is JSON, so text needs double quotes; numbers
// keep their spelling.

#include "core/base/printable.h"
#include "core/json/json_path.h"
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

// The path ends at the first '=', because no known key contains one.
Status set_member(KeyedJson& document, const std::string& text) {
  const auto [name, json] = split_pair(text);
  auto value = JsonText::parse(json);
  if (!value) {
    const std::string step = fmt::format("config:set={}={}", name, JsonText::text(json).dump(0));
    return misuse_hint(fmt::format("--step {}", shell_word(step)),
                       "set={}: the value is not JSON; text needs double quotes", text);
  }
  CKPT_TRY(in(fmt::format("set={}", name), check_numbers(*value)));
  if (document.set(json_path(name), std::move(*value))) return {};
  return misuse("set={}: a parent of '{}' is not an object", text, name);
}

Status remove_member(KeyedJson& document, const std::string& name, const Context& context) {
  switch (document.remove(json_path(name))) {
    case KeyedJson::RemoveResult::kIsItem:
      return misuse("remove={}: items of arrays are not removed; set the array", name);
    case KeyedJson::RemoveResult::kAbsent:
      context.note("key '{}' does not exist; nothing to remove", name);
      break;
    case KeyedJson::RemoveResult::kYes: break;
  }
  return {};
}

Result<Checkpoint> edit_config(Checkpoint checkpoint, const OptionValues& options,
                               const Context& context) {
  const std::string file = options.text("file");
  CKPT_ASSIGN(std::optional<JsonDocument> document, read_json(checkpoint, file));
  if (!document) return misuse("no document '{}'", file);
  if (!options.has("set") && !options.has("remove")) {
    return misuse("nothing to set or remove");
  }
  {
    KeyedJson keyed(document->root);
    for (const OptionValues::Value& edit : options.given()) {
      if (edit.rule->name == "set") CKPT_TRY(set_member(keyed, edit.text));
      if (edit.rule->name == "remove") CKPT_TRY(remove_member(keyed, edit.text, context));
    }
  }
  write_json(checkpoint, file, *document);
  return checkpoint;
}

}  // namespace

extern constinit const Transform kConfigEdit{"config",
                                             "sets and removes members of a JSON document",
                                             kConfigOptions, edit_config, ChangeScope::kDocuments};

}  // namespace ckpt
