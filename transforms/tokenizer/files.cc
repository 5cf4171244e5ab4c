#include "transforms/tokenizer/files.h"

#include <algorithm>

#include "core/model/document_names.h"

namespace ckpt {
namespace {

bool is_vocabulary(const Document& document) {
  return is_document_of(DocumentKind::kVocabulary, document.path);
}

}  // namespace

bool is_of_tokenizer(const Document& document) {
  return is_vocabulary(document) || is_document_of(DocumentKind::kTokenizer, document.path);
}

bool is_chat_template(const Document& document) {
  return is_document_of(DocumentKind::kTemplate, document.path);
}

void exchange_files(const std::vector<Document>& documents, bool (*is_it)(const Document&),
                    Checkpoint& checkpoint) {
  std::erase_if(checkpoint.documents, [&](const Document& old) {
    return is_it(old) && std::ranges::find(documents, old.path, &Document::path) == documents.end();
  });
  for (const Document& document : documents) {
    if (is_it(document)) checkpoint.set_document(document);
  }
}

Status take_tokenizer_files(const std::vector<Document>& documents, std::string_view where,
                            Checkpoint& checkpoint) {
  if (std::ranges::none_of(documents, is_vocabulary)) {
    return misuse("{}: no tokenizer.json or other vocabulary in this folder", where);
  }
  exchange_files(documents, is_of_tokenizer, checkpoint);
  if (std::ranges::any_of(documents, is_chat_template)) {
    exchange_files(documents, is_chat_template, checkpoint);
  }
  return {};
}

}  // namespace ckpt
