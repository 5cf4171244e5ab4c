// complete: adds missing files and weights to a checkpoint, from the model that it was made from.
//
//   from the model                         added if the checkpoint has
//   config.json, generation_config.json    no file of this name
//   tokenizer                              no vocabulary
//   chat template                          no template
//   preprocessor files                     vision_config, but no preprocessor file
//   unquantized weights                    no tensor for this parameter of its family
//
// The step keeps existing files and tensors unchanged.
#include <algorithm>

#include "core/model/document_names.h"
#include "core/model/json_documents.h"
#include "core/model/transform.h"
#include "transforms/packed/quant_summary.h"
#include "transforms/to_gguf/one_form.h"

namespace ckpt {

extern const Transform kGraft;

namespace {

constexpr OptionRule kCompleteOptions[] = {
    option::path("base", "DIR", "the model that the checkpoint was made from").required(),
};

bool has_kind(const Checkpoint& checkpoint, DocumentKind kind) {
  return std::ranges::any_of(checkpoint.documents, [&](const Document& document) {
    return is_document_of(kind, document.path);
  });
}

bool lacks_document(const Checkpoint& to, std::string_view path) {
  if (path == "config.json" || path == "generation_config.json") return !to.find_document(path);
  if (is_document_of(DocumentKind::kTemplate, path)) {
    const Document* config = to.find_document("tokenizer_config.json");
    return !has_kind(to, DocumentKind::kTemplate) &&
           (config == nullptr || config->text().find("\"chat_template\"") == std::string::npos);
  }
  if (is_document_of(DocumentKind::kInputs, path)) {
    const auto config = read_object(to, "config.json");
    return !has_kind(to, DocumentKind::kInputs) && config && *config != nullptr &&
           known(**config, "vision_config") != nullptr;
  }
  return !has_kind(to, DocumentKind::kVocabulary) &&
         (is_document_of(DocumentKind::kVocabulary, path) ||
          is_document_of(DocumentKind::kTokenizer, path));
}

std::vector<std::string> take_documents(const std::vector<Document>& base, Checkpoint& to) {
  std::vector<std::string> taken;
  Checkpoint before = to;
  for (const Document& document : base) {
    if (document.path == "config.json" && lacks_document(to, document.path)) {
      before.set_document(document);  // its vision_config decides about preprocessors
    } else if (!lacks_document(before, document.path)) {
      continue;
    }
    to.set_document(document);
    taken.push_back(document.path);
  }
  return taken;
}

Result<Checkpoint> complete(Checkpoint checkpoint, const OptionValues& options,
                            const Context& context) {
  CKPT_TRY(expect_safetensors(checkpoint, "complete"));
  const std::string base = options.text("base");
  CKPT_ASSIGN(const std::vector<Document> documents, context.documents(base));
  std::vector<std::string> taken = take_documents(documents, checkpoint), weights;
  CKPT_ASSIGN(const auto missing, missing_names(checkpoint, context.codecs));
  if (!missing.empty()) {
    CKPT_ASSIGN(const Checkpoint other, context.open(base));
    Options graft{{"from", base}};
    for (const std::string& name : missing) {
      const Tensor* found = other.find_tensor(name);
      if (found == nullptr || !found->is_plain_float()) continue;
      weights.push_back(name);
      graft.add("tensors", name);
    }
    if (!weights.empty()) {
      CKPT_SET(checkpoint, kGraft.apply(std::move(checkpoint), graft, context));
    }
  }
  std::ranges::move(summarize_names(weights), std::back_inserter(taken));
  if (!taken.empty()) {
    context.note("taken from --base {}, because IN lacks them: {}", base, fmt::join(taken, ", "));
  }
  return checkpoint;
}

}  // namespace

extern constinit const Transform kComplete{
    "complete", "takes from another model what is missing: configuration, tokenizer, weights",
    kCompleteOptions, complete, ChangeScope::kValues};

}  // namespace ckpt
