#include "core/model/json_documents.h"

#include <algorithm>
#include <map>

namespace ckpt {

Result<std::shared_ptr<const JsonValue>> read_object(const Checkpoint& checkpoint,
                                                     std::string_view path) {
  const Document* document = checkpoint.find_document(path);
  if (document == nullptr) return nullptr;
  CKPT_ASSIGN(auto values, document->values());
  if (!values->is_object()) {
    return corrupt("{}: a JSON {}; expected an object", path, values->type_name());
  }
  return values;
}

std::string architecture_of(const Checkpoint& checkpoint) {
  if (const std::string* name = checkpoint.metadata.find_text("general.architecture")) return *name;
  const auto config = read_object(checkpoint, "config.json");
  const JsonValue* names = config && *config ? known(**config, "architectures") : nullptr;
  const bool is_list = names != nullptr && names->is_array() && !names->empty();
  return is_list && names->front().is_string() ? names->front().get<std::string>() : "";
}

Result<std::optional<JsonDocument>> read_json(const Checkpoint& checkpoint, std::string_view path) {
  const Document* document = checkpoint.find_document(path);
  if (document == nullptr) return std::optional<JsonDocument>();
  CKPT_ASSIGN(const auto root, document->tree());
  if (!root->is_object()) {
    return corrupt("{}: JSON, but no object; expected one", path);
  }
  return std::optional(JsonDocument{*root, json_style_of(document->text())});
}

Result<std::optional<JsonText>> read_config(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(auto document, read_json(checkpoint, "config.json"));
  return document ? std::optional(std::move(document->root)) : std::nullopt;
}

void write_json(Checkpoint& checkpoint, std::string_view path, const JsonDocument& document) {
  if (const Document* old = checkpoint.find_document(path)) {
    const auto declared = old->tree();
    if (declared && **declared == document.root) return;
  }
  checkpoint.set_document(std::string(path), document.root.dump(document.style));
}

namespace {

constexpr const char* kModuleList = "modules.json";
constexpr const char* kWithAutoMap[] = {"config.json",
                                        "tokenizer_config.json",
                                        "processor_config.json",
                                        "preprocessor_config.json",
                                        "video_preprocessor_config.json",
                                        "image_processor_config.json",
                                        "feature_extractor_config.json"};

using Files = std::map<std::string, std::string>;  // maps paths to the naming document

// Adds the file of a class such as "modeling_x.XModel".
void add_class(const JsonValue& value, const std::string& document, Files& files) {
  const auto* const name = value.get_ptr<const std::string*>();
  if (name == nullptr || name->find("--") != name->npos) return;
  const size_t dot = name->rfind('.');
  if (dot == name->npos || dot == 0) return;
  files.emplace(name->substr(0, dot) + ".py", document);
}

// The content of a document; nullptr if it is absent or not JSON, which other code reports.
std::shared_ptr<const JsonValue> values_of(const Checkpoint& checkpoint, std::string_view path) {
  const Document* const document = checkpoint.find_document(path);
  if (document == nullptr) return nullptr;
  auto values = document->values();
  return values ? *values : nullptr;
}

bool is_library_class(std::string_view type) {
  return type.starts_with("sentence_transformers.") || type.starts_with("torch.");
}

bool has_document_in(const Checkpoint& checkpoint, const std::string& folder) {
  return std::ranges::any_of(checkpoint.documents, [&](const Document& document) {
    return document.path.starts_with(folder);
  });
}

}  // namespace

std::vector<NamedFile> named_code(const Checkpoint& checkpoint) {
  Files files;
  for (const char* const path : kWithAutoMap) {
    const auto values = values_of(checkpoint, path);
    if (values == nullptr) continue;
    for (const JsonValue& entry : object_in(*values, "auto_map")) {
      if (!entry.is_array()) add_class(entry, path, files);
      if (!entry.is_array()) continue;
      for (const JsonValue& each : entry) add_class(each, path, files);
    }
  }
  for (const SentenceModule& module : sentence_modules(checkpoint)) {
    if (!is_library_class(module.type)) add_class(JsonValue(module.type), kModuleList, files);
  }
  std::vector<NamedFile> out;
  for (const auto& [path, document] : files) out.push_back({document, path});
  return out;
}

std::vector<SentenceModule> sentence_modules(const Checkpoint& checkpoint) {
  std::vector<SentenceModule> out;
  const auto modules = values_of(checkpoint, kModuleList);
  if (modules == nullptr || !modules->is_array()) return out;
  for (const JsonValue& module : *modules) {
    const std::string* const path = text_of(module, "path");
    const std::string* const type = text_of(module, "type");
    out.push_back({path == nullptr ? "" : *path, type == nullptr ? "" : *type});
  }
  return out;
}

std::vector<NamedFile> modules_without_files(const Checkpoint& checkpoint) {
  std::vector<NamedFile> out;
  for (const auto& [path, type] : sentence_modules(checkpoint)) {
    if (path.empty()) continue;
    const bool has_no_files = type.ends_with("Normalize");
    const std::string folder = path.ends_with('/') ? path : path + "/";
    if (!has_no_files && !has_document_in(checkpoint, folder)) out.push_back({kModuleList, folder});
  }
  return out;
}

}  // namespace ckpt
