// Chat templates (llama.cpp gguf-py/gguf/vocab.py SpecialVocab, gguf_writer.py add_chat_template).
//
// Without tokenizer_config.json no template is looked for.
#include <set>

#include "core/base/utf8.h"
#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "transforms/to_gguf/tokenizer/special.h"

namespace ckpt {
namespace {

std::string file_stem(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return std::string(path.substr(0, path.rfind('.')));
}

// A text file as Python reads it: UTF-8, and each line ends in \n, whatever it ended in.
Result<std::string> read_lines(const Document& document) {
  const std::string& text = document.text();
  if (!is_utf8(text)) return corrupt("{}: not UTF-8; expected a template as text", document.path);
  return replace_all(replace_all(text, "\r\n", "\n"), "\r", "\n");
}

// One '_' for each character that is not a letter or digit of ASCII.
std::string safe_name(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const char c = name[0];
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    out += plain ? c : '_';
    name.remove_prefix(first_character(name).size_bytes);
  }
  return out;
}

void put(Metadata& metadata, std::string key, const std::string& text) {
  if (!text.empty()) metadata.set(std::move(key), MetaValue::text(text));
}

}  // namespace

Result<JsonValue> find_chat_template(const Checkpoint& checkpoint, const JsonValue& config) {
  if (config.empty()) return JsonValue();
  if (const JsonValue* found = member(config, "chat_template")) return *found;
  const Document* jinja = checkpoint.find_document("chat_template.jinja");
  if (jinja == nullptr) {
    CKPT_ASSIGN(const auto json, read_object(checkpoint, "chat_template.json"));
    const JsonValue* found = json ? member(*json, "chat_template") : nullptr;
    return found == nullptr ? JsonValue() : *found;
  }
  CKPT_ASSIGN(std::string text, read_lines(*jinja));
  JsonValue list = JsonValue::array({{{"name", "default"}, {"template", std::move(text)}}});
  for (const Document& document : checkpoint.documents) {
    if (!document.path.starts_with("additional_chat_templates/") ||
        !document.path.ends_with(".jinja")) {
      continue;
    }
    CKPT_ASSIGN(text, read_lines(document));
    list.push_back({{"name", file_stem(document.path)}, {"template", std::move(text)}});
  }
  return list.size() == 1 ? list[0]["template"] : list;
}

void add_chat_template(const JsonValue& found, Metadata& metadata) {
  if (const auto* text = found.get_ptr<const std::string*>()) {
    put(metadata, "tokenizer.chat_template", *text);
  }
  if (!found.is_array()) return;
  const std::string* standard = nullptr;
  // The converter writes the names in an order that changes from run to run; here they are sorted.
  std::set<std::string> names;
  for (const JsonValue& entry : found) {
    const std::string* name = text_of(entry, "name");
    const std::string* text = text_of(entry, "template");
    if (name == nullptr || name->empty() || text == nullptr) continue;
    if (*name == "default") {
      standard = text;
      continue;
    }
    const std::string safe = safe_name(*name);
    names.insert(safe);
    put(metadata, "tokenizer.chat_template." + safe, *text);
  }
  if (!names.empty()) {
    metadata.append("tokenizer.chat_templates",
                    MetaValue::array(make_text_array({names.begin(), names.end()})));
  }
  if (standard != nullptr) put(metadata, "tokenizer.chat_template", *standard);
}

}  // namespace ckpt
