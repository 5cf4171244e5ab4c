// Checks chat templates that jinja2 cannot compile.
//
// Sources: transformers 5 src/transformers/tokenization_utils_base.py (which file counts) and
// utils/chat_template_utils.py (how it is compiled); llama.cpp common/chat.cpp,
// tools/server/server-context.cpp (the server stops) and gguf-py/gguf/vocab.py.
#include "checks/subject/subject.h"
#include "checks/tokenizer/jinja.h"
#include "core/model/document_names.h"

namespace ckpt {
namespace {

// `is_default` is false for a template that only a request can choose by name.
void check_jinja(const CheckContext& context, std::string place, const std::string& text,
                 bool is_default) {
  const auto fault = find_template_fault(text);
  if (!fault) return;
  context.tell(std::move(place), "line {}: {}", fault->line, fault->what);
  // llama.cpp looks up names only when it runs the template.
  const bool is_passed = !fault->is_syntax && context.profile.runs_llama_server();
  if (is_passed || !is_default) context.out.back().severity = Severity::kWarning;
}

// Checks a field that is a text or a list of {name, template}.
void check_field(const CheckContext& context, const JsonValue& json, std::string_view path) {
  const JsonValue* found = known(json, "chat_template");
  if (found == nullptr) return;
  const std::string place = fmt::format("{}: chat_template", path);
  if (const auto* text = found->get_ptr<const std::string*>())
    check_jinja(context, place, *text, true);
  if (!found->is_array()) return;
  // The tokenizer of transformers makes a table of the entries, whatever the values are.
  const bool is_made = path == "tokenizer_config.json" && !context.profile.runs_llama_server();
  for (const JsonValue& entry : *found) {
    if (is_made && (member(entry, "name") == nullptr || member(entry, "template") == nullptr)) {
      return context.report(
          place, fmt::format("{}; expected an object with name and template", entry.dump()),
          Severity::kUnloaded, "TypeError or KeyError while the tokenizer is made");
    }
    const std::string* name = text_of(entry, "name");
    const std::string* text = text_of(entry, "template");
    if (name == nullptr || text == nullptr) continue;
    check_jinja(context, fmt::format("{} '{}'", place, *name), *text, *name == "default");
  }
}

void check_gguf(const CheckContext& context) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  if (!context.profile.runs_llama_server()) return;
  for (const MetaEntry& entry : context.on.checkpoint.metadata.entries) {
    const auto* const text = std::get_if<std::string>(&entry.value.value);
    const bool is_named = entry.key.starts_with(fmt::format("{}.", kKey));
    if (text == nullptr || (entry.key != kKey && !is_named)) continue;
    check_jinja(context, entry.key, *text, !is_named);
  }
}

void check_chat_template(const CheckContext& context) {
  if (context.on.is_gguf) return check_gguf(context);
  const bool has_field = known(context.on.tokenizer_config, "chat_template") != nullptr;
  const bool has_file = context.on.has_document("chat_template.jinja");
  if (has_field && !has_file) {
    return check_field(context, context.on.tokenizer_config, "tokenizer_config.json");
  }
  for (const Document& document : context.on.checkpoint.documents) {
    if (!document.path.ends_with(".jinja") ||
        !is_document_of(DocumentKind::kTemplate, document.path)) {
      continue;
    }
    check_jinja(context, document.path, document.text(), document.path == "chat_template.jinja");
  }
  const Document* processor = context.on.checkpoint.find_document("chat_template.json");
  if (has_file || processor == nullptr) return;
  if (const auto values = processor->values()) check_field(context, **values, processor->path);
}

constexpr Check kChatTemplateChecks[] = {
    {"T22", "jinja2 compiles the chat template", "S: all",
     "TemplateSyntaxError at every chat request; llama-server does not start",
     "take the chat template from the source model", check_chat_template},
};

}  // namespace

std::span<const Check> chat_template_checks() { return kChatTemplateChecks; }

}  // namespace ckpt
