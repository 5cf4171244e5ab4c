#include "core/model/named_files.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json/json_read.h"

namespace ckpt {
namespace {

constexpr const char* kModuleList = "modules.json";
constexpr const char* kWithAutoMap[] = {"config.json",
                                        "tokenizer_config.json",
                                        "processor_config.json",
                                        "preprocessor_config.json",
                                        "video_preprocessor_config.json",
                                        "image_processor_config.json",
                                        "feature_extractor_config.json"};

using Files = std::map<std::string, std::string>;  // the document, by path

// "modeling_x.XModel"
void add_class(const JsonValue& value, const std::string& document, Files& files) {
  const auto* const name = value.get_ptr<const std::string*>();
  if (name == nullptr || name->find("--") != name->npos) return;
  const size_t dot = name->rfind('.');
  if (dot == name->npos || dot == 0) return;
  files.emplace(name->substr(0, dot) + ".py", document);
}

// The content of a document; nullptr where it is absent, or is not JSON, which other code reports.
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
  if (const auto modules = values_of(checkpoint, kModuleList); modules && modules->is_array()) {
    for (const JsonValue& module : *modules) {
      const std::string* const type = text_of(module, "type");
      if (type != nullptr && !is_library_class(*type)) add_class(*type, kModuleList, files);
    }
  }
  std::vector<NamedFile> out;
  for (const auto& [path, document] : files) out.push_back({document, path});
  return out;
}

std::vector<NamedFile> modules_without_files(const Checkpoint& checkpoint) {
  std::vector<NamedFile> out;
  const auto modules = values_of(checkpoint, kModuleList);
  if (modules == nullptr || !modules->is_array()) return out;
  for (const JsonValue& module : *modules) {
    const std::string* const path = text_of(module, "path");
    const std::string* const type = text_of(module, "type");
    if (path == nullptr || path->empty()) continue;
    const bool has_no_files = type != nullptr && type->ends_with("Normalize");
    const std::string folder = path->ends_with('/') ? *path : *path + "/";
    if (!has_no_files && !has_document_in(checkpoint, folder)) out.push_back({kModuleList, folder});
  }
  return out;
}

}  // namespace ckpt
