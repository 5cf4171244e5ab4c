// Lists the small files of a Hugging Face folder that belong to the model.
//
// The table lists files to copy, not files to omit: a trainer's folder also contains optimizer
// states, random number states, logs and caches, none of which may be copied with the weights.
// Python files (remote code) are omitted too; users copy them after reading them, and a note lists
// those that a document names (core/model/json_documents.h).
#pragma once

#include <string_view>
#include <vector>

namespace ckpt {

enum class DocumentKind {
  kModel,       // configuration of the model and of its quantization
  kVocabulary,  // tokens and merges, in any form
  kTokenizer,   // everything else that defines the tokenizer
  kTemplate,    // chat templates
  kInputs,      // processing of images, video, sound
  kEmbedding,   // modules of embedding models
  kModules,     // the weights of these modules, which stay unchanged
  kWords,       // written by people: a card, a license
};

// The globs of all kinds, for paths relative to the folder.
std::vector<std::string_view> document_globs();

// Whether `path` is one of these files.
bool is_document(std::string_view path);
bool is_document_of(DocumentKind kind, std::string_view path);

}  // namespace ckpt
