// Chat templates that jinja2 does not compile.
//
// Sources: transformers 5 src/transformers/tokenization_utils_base.py (which file counts) and
// utils/chat_template_utils.py (how it is compiled); llama.cpp common/chat.cpp,
// tools/server/server-context.cpp (the server stops) and gguf-py/gguf/vocab.py.
#include "checks/subject/subject.h"
#include "checks/tokenizer/jinja.h"
#include "core/model/document_names.h"

namespace ckpt {
namespace {

// `is_default` is false for one that a request must name.
void look_jinja(const Look& look, std::string place, const std::string& text, bool is_default) {
  const auto fault = find_template_fault(text);
  if (!fault) return;
  look.tell(std::move(place), "line {}: {}", fault->line, fault->what);
  // llama.cpp looks names up when it runs the template.
  const bool is_passed = !fault->is_syntax && look.profile.runs_llama_server();
  if (is_passed || !is_default) look.out.back().severity = Severity::kWarning;
}

// A text, or a list of {name, template}.
void look_field(const Look& look, const JsonValue& json, std::string_view path) {
  const JsonValue* found = known(json, "chat_template");
  if (found == nullptr) return;
  const std::string place = fmt::format("{}: chat_template", path);
  if (const auto* text = found->get_ptr<const std::string*>()) look_jinja(look, place, *text, true);
  if (!found->is_array()) return;
  // The tokenizer of transformers makes a table of them, whatever the values are.
  const bool is_made = path == "tokenizer_config.json" && !look.profile.runs_llama_server();
  for (const JsonValue& entry : *found) {
    if (is_made && (member(entry, "name") == nullptr || member(entry, "template") == nullptr)) {
      return look.report(place,
                         fmt::format("{}; expected an object with name and template", entry.dump()),
                         Severity::kUnloaded, "TypeError or KeyError while the tokenizer is made");
    }
    const std::string* name = text_of(entry, "name");
    const std::string* text = text_of(entry, "template");
    if (name == nullptr || text == nullptr) continue;
    look_jinja(look, fmt::format("{} '{}'", place, *name), *text, *name == "default");
  }
}

void look_gguf(const Look& look) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  if (!look.profile.runs_llama_server()) return;
  for (const MetaEntry& entry : look.on.checkpoint.metadata.entries) {
    const auto* const text = std::get_if<std::string>(&entry.value.value);
    const bool is_named = entry.key.starts_with(fmt::format("{}.", kKey));
    if (text == nullptr || (entry.key != kKey && !is_named)) continue;
    look_jinja(look, entry.key, *text, !is_named);
  }
}

void look_chat_template(const Look& look) {
  if (look.on.is_gguf) return look_gguf(look);
  const bool has_field = known(look.on.tokenizer_config, "chat_template") != nullptr;
  const bool has_file = look.on.has_document("chat_template.jinja");
  if (has_field && !has_file) {
    return look_field(look, look.on.tokenizer_config, "tokenizer_config.json");
  }
  for (const Document& document : look.on.checkpoint.documents) {
    if (!document.path.ends_with(".jinja") ||
        !is_document_of(DocumentKind::kTemplate, document.path)) {
      continue;
    }
    look_jinja(look, document.path, document.text(), document.path == "chat_template.jinja");
  }
  const Document* processor = look.on.checkpoint.find_document("chat_template.json");
  if (has_file || processor == nullptr) return;
  if (const auto values = processor->values()) look_field(look, **values, processor->path);
}

constexpr Check kChatTemplateChecks[] = {
    {"T22", "jinja2 compiles the chat template", "S: all",
     "TemplateSyntaxError at every chat request; llama-server does not start",
     "take the chat template from the source model", look_chat_template},
};

}  // namespace

std::span<const Check> chat_template_checks() { return kChatTemplateChecks; }

}  // namespace ckpt
