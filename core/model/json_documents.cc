#include "core/model/json_documents.h"

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

void write_json(Checkpoint& checkpoint, std::string_view path, const JsonDocument& document) {
  if (const Document* old = checkpoint.find_document(path)) {
    const auto said = old->tree();
    if (said && **said == document.root) return;
  }
  checkpoint.set_document(std::string(path), document.root.dump(document.style));
}

}  // namespace ckpt
