// ckpt get PATH KEY: prints values of metadata and JSON documents.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/find.h"
#include "core/base/glob.h"
#include "core/base/nearest.h"
#include "core/base/utf8.h"
#include "core/io/files_read.h"
#include "core/io/folder.h"
#include "core/json/json_path.h"
#include "core/model/json_documents.h"
#include "formats/formats.h"
#include "plan/conversion/edits.h"
#include "plan/conversion/steps.h"
#include "quantizers/quantizers.h"
#include "tools/line/commands.h"
#include "tools/say/meta_text.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

struct TypedGet {
  std::string path;
  std::vector<std::string> keys;
  std::string tensor;
  bool raw = false;
  ReadOptions reading;
};

struct Answer {
  std::string key, type;
  std::string whole, brief;  // the full value, and one line at most
  Json json;
};

Answer answer_of(const std::string& key, const MetaValue& value) {
  Answer out{key, meta_type_name(value), "", meta_text(value), meta_json(value)};
  const auto* text = std::get_if<std::string>(&value.value);
  const bool is_list = std::holds_alternative<MetaArray>(value.value);
  out.whole = text != nullptr ? *text
              : is_list       ? out.json.dump(-1, ' ', false, Json::error_handler_t::replace)
                              : out.brief;
  return out;
}

Answer answer_of(const std::string& key, const JsonText& value) {
  const auto text = value.as_text();
  const std::string spelled = value.dump(0);
  return {key, "json", text ? *text : spelled, shorten(spelled, 120), Json(value.value())};
}

using Answers = std::vector<Answer>;

Failure no_such_key(const TypedGet& typed, const std::string& key,
                    const std::vector<std::string>& keys) {
  const std::string near = nearest(key, keys), path = shell_path(typed.path);
  return misuse_hint(near.empty() ? fmt::format("ckpt get {}", path)
                                  : fmt::format("ckpt get {} {}", path, shell_word(near)),
                     "{}: has no key '{}'", typed.path, key);
}

Result<Answers> metadata_answers(const TypedGet& typed) {
  CKPT_ASSIGN(const Checkpoint checkpoint, read_checkpoint(typed.path, typed.reading));
  Metadata all = checkpoint.metadata;
  for (const auto& [file, metadata] : checkpoint.file_metadata) {
    for (const MetaEntry& entry : metadata.entries) all.entries.push_back(entry);
  }
  Answers out;
  std::map<std::string_view, const MetaValue*> known;
  for (const MetaEntry& entry : all.entries) {
    known.emplace(entry.key, &entry.value);
    if (typed.keys.empty()) out.push_back(answer_of(entry.key, entry.value));
  }
  for (const std::string& key : typed.keys) {
    if (const auto* value = find_mapped(known, key)) {
      out.push_back(answer_of(key, **value));
      continue;
    }
    std::vector<std::string> keys;
    for (const MetaEntry& entry : all.entries) {
      keys.push_back(entry.key);
      if (entry.key.ends_with("." + key)) return no_such_key(typed, key, {entry.key, entry.key});
    }
    return no_such_key(typed, key, keys);
  }
  return out;
}

Failure no_such_file(const TypedGet& typed, std::string_view file) {
  return misuse_hint("ckpt show " + shell_path(typed.path), "{}: has no '{}'", typed.path, file);
}

// Adds a key of the `__metadata__` of weight files. Their name may be a glob, as for ckpt set.
Status add_file_answers(const TypedGet& typed, const DocumentKey& at, Answers& out) {
  CKPT_ASSIGN(const Checkpoint checkpoint, read_checkpoint(typed.path, typed.reading));
  const Glob wanted(at.file);
  const size_t before = out.size();
  std::vector<std::string> keys;
  bool has_file = false;
  for (const auto& [file, metadata] : checkpoint.file_metadata) {
    if (!wanted.matches(file)) continue;
    has_file = true;
    for (const MetaEntry& entry : metadata.entries) {
      keys.push_back(fmt::format("{}:{}", at.file, entry.key));
      if (entry.key != at.key) continue;
      out.push_back(answer_of(fmt::format("{}:{}", file, entry.key), entry.value));
    }
  }
  if (out.size() > before) return {};
  return has_file ? no_such_key(typed, fmt::format("{}:{}", at.file, at.key), keys)
                  : no_such_file(typed, at.file);
}

// Without keys: returns the members of the two documents that hold a model's settings.
Result<Answers> document_answers(const TypedGet& typed) {
  Checkpoint checkpoint;
  CKPT_ASSIGN(checkpoint.documents, read_documents(typed.path, typed.reading));
  CKPT_ASSIGN(auto index, read_index_document(typed.path, typed.reading));
  if (index) checkpoint.set_document(std::move(*index));
  Answers out;
  bool has_settings = false;
  for (const char* name : {"config.json", "generation_config.json"}) {
    if (!typed.keys.empty()) break;
    CKPT_ASSIGN(const auto document, read_json(checkpoint, name));
    if (!document) continue;
    has_settings = true;
    for (const auto& [key, value] : document->root.members()) {
      out.push_back(answer_of(fmt::format("{}:{}", name, key), value));
    }
  }
  if (typed.keys.empty() && !has_settings) {
    return misuse_hint("ckpt get FILE", "{}: has no 'config.json'", typed.path);
  }
  std::map<std::string, std::optional<JsonDocument>> documents;
  std::map<std::string, KeyedJson> keyed;
  for (const std::string& typed_key : typed.keys) {
    const DocumentKey at = document_key(typed_key);
    if (at.file.ends_with(".safetensors")) {
      CKPT_TRY(add_file_answers(typed, at, out));
      continue;
    }
    const auto [known, is_new] = documents.try_emplace(at.file);
    auto& document = known->second;
    if (is_new) CKPT_SET(document, read_json(checkpoint, at.file));
    if (!document) return no_such_file(typed, at.file);
    KeyedJson& places = keyed.try_emplace(at.file, document->root).first->second;
    const JsonText* value = places.find(json_path(at.key));
    if (value != nullptr) {
      out.push_back(answer_of(typed_key, *value));
      continue;
    }
    std::vector<std::string> keys;
    for (const auto& [key, each] : document->root.members()) keys.push_back(key);
    return no_such_key(typed, typed_key, keys);
  }
  return out;
}

// Writes the decoded values to stdout as raw F32 in the byte order of this machine.
Result<int> write_values(const TypedGet& typed) {
  CKPT_ASSIGN(Checkpoint checkpoint, read_checkpoint(typed.path, typed.reading));
  CKPT_ASSIGN(checkpoint, join_packed_weights(std::move(checkpoint), all_codecs()));
  const Tensor* found = checkpoint.find_tensor(typed.tensor);
  if (found == nullptr) {
    return misuse_hint(near_hint(typed.tensor, names_in(checkpoint.tensors), "--tensor ",
                                 "ckpt show --tensors " + shell_path(typed.path)),
                       "{}: has no tensor '{}'", typed.path, typed.tensor);
  }
  CKPT_ASSIGN(const std::vector<float> values, read_values(*found, UINT64_MAX));
  CKPT_TRY(check_files_read());
  std::fwrite(values.data(), sizeof(float), values.size(), stdout);
  return 0;
}

Result<int> get(const TypedGet& typed, const Console& console) {
  if (!typed.tensor.empty()) {
    if (typed.keys.empty() && !console.json()) return write_values(typed);
    return misuse("--tensor {}: the values alone; expected no KEY and no --json", typed.tensor);
  }
  const auto refused = misuse_hint("ckpt get FILE KEY --raw",
                                   "--raw: the bytes of one value; expected one KEY and no --json");
  if (typed.raw && (typed.keys.size() != 1 || console.json())) return refused;
  CKPT_ASSIGN(const Answers answers,
              is_folder(typed.path) ? document_answers(typed) : metadata_answers(typed));
  CKPT_TRY(check_files_read());
  if (typed.raw && answers.size() != 1) return refused;  // a glob that matches several files
  if (typed.raw) {
    std::fwrite(answers[0].whole.data(), 1, answers[0].whole.size(), stdout);
    return 0;
  }
  for (const Answer& answer : answers) {
    console.object("metadata",
                   {{"key", answer.key}, {"value_type", answer.type}, {"value", answer.json}});
    if (typed.keys.size() == 1) {
      console.answer_lines(answer.whole);
    } else {
      console.answer("{} = {}", answer.key, answer.brief);
    }
  }
  return 0;
}

Run declare_get(CommandOptions& options) {
  auto typed = std::make_shared<TypedGet>();
  typed->reading.keep_unknown_types = true;
  options.add("PATH", &typed->path, "a .gguf, a Hugging Face folder or a .safetensors",
              {.is_required = true});
  options.add(
      "KEY", &typed->keys,
      "key to print; a single one is printed entirely (default: all, a line each); in a folder "
      "DOCUMENT.json:KEY");
  options.add("--tensor NAME", &typed->tensor,
              "only the values of a tensor, decoded to F32, for a file");
  options.add("--raw", &typed->raw, "only the bytes of one value, for a file");
  declare_follow_links(options, &typed->reading.follow_links);
  return [typed](const Console& console, const CommonOptions&) { return get(*typed, console); };
}

}  // namespace

extern const Command kGetCommand{
    "get", "Prints GGUF metadata, or values in a folder's JSON documents.",
    "  ckpt get model.gguf general.name\n"
    "  ckpt get model.gguf tokenizer.chat_template --raw > chat.jinja\n"
    "  ckpt get model/ max_position_embeddings hidden_size --json",
    declare_get};

}  // namespace ckpt
