// Chat templates (llama.cpp gguf-py/gguf/vocab.py SpecialVocab, gguf_writer.py add_chat_template).
//
//   source      files ─▶ chat_template of tokenizer_config.json ─▶ chat_template.json
//   converter   chat_template of tokenizer_config.json ─▶ files ─▶ chat_template.json; without
//               tokenizer_config.json it searches none
//
// Source: transformers 4.57.6 and 5.24.0 src/transformers/tokenization_utils_base.py
// (_from_pretrained): templates in files override those in tokenizer_config.json.
#include <algorithm>
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

// Reads a text file like Python: UTF-8, with \n at the end of each line.
Result<std::string> read_lines(const Document& document) {
  const std::string& text = document.text();
  if (!is_utf8(text)) return corrupt("{}: not UTF-8; expected a template as text", document.path);
  return replace_all(replace_all(text, "\r\n", "\n"), "\r", "\n");
}

// Replaces each character that is not an ASCII letter or digit by '_'.
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

// chat_template.jinja as "default", and the files in additional_chat_templates/ by their names.
Result<JsonValue> template_files(const Checkpoint& checkpoint) {
  JsonValue out = JsonValue::array();
  for (const Document& document : checkpoint.documents) {
    const bool is_default = document.path == "chat_template.jinja";
    const bool is_named = document.path.starts_with("additional_chat_templates/") &&
                          document.path.ends_with(".jinja");
    if (!is_default && !is_named) continue;
    CKPT_ASSIGN(std::string text, read_lines(document));
    out.push_back({{"name", is_default ? "default" : file_stem(document.path)},
                   {"template", std::move(text)}});
  }
  return out;
}

Metadata keys_of(const JsonValue& chat) {
  Metadata out;
  add_chat_template(chat, out);
  return out;
}

}  // namespace

bool ChatTemplate::differs() const {
  const Metadata a = keys_of(source), b = keys_of(converter);
  return a.entries.size() != b.entries.size() ||
         !std::ranges::all_of(a.entries, [&](const MetaEntry& entry) {
           const MetaValue* other = b.find(entry.key);
           return other != nullptr && *other == entry.value;
         });
}

Result<ChatTemplate> find_chat_template(const Checkpoint& checkpoint, const JsonValue& config) {
  CKPT_ASSIGN(JsonValue files, template_files(checkpoint));
  CKPT_ASSIGN(const auto json, read_object(checkpoint, "chat_template.json"));
  const JsonValue* field = member(config, "chat_template");
  const JsonValue* last = json ? member(*json, "chat_template") : nullptr;
  const bool has_default = checkpoint.find_document("chat_template.jinja") != nullptr;
  ChatTemplate out;
  out.source = field != nullptr ? *field : last != nullptr ? *last : JsonValue();
  if (!config.empty()) out.converter = field == nullptr && has_default ? files : out.source;
  if (!has_default && !files.empty() && out.source.is_string()) {
    files.push_back({{"name", "default"}, {"template", out.source}});
  }
  if (!files.empty()) out.source = std::move(files);
  return out;
}

std::string chat_of_class(const ChatOfClass& chat, std::string_view folder) {
  const bool is_other = chat.other != nullptr && folder.find(chat.part) != folder.npos;
  const auto text = parse_json("", is_other ? *chat.other : *chat.text);
  CKPT_CHECK(text.has_value() && text->is_string());
  return text->get<std::string>();
}

void add_chat_template(const JsonValue& found, Metadata& metadata) {
  if (const auto* text = found.get_ptr<const std::string*>()) {
    put(metadata, "tokenizer.chat_template", *text);
  }
  if (!found.is_array()) return;
  const std::string* standard = nullptr;
  // The converter writes the names in random order; here they are sorted.
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
