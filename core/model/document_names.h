// The small files of a Hugging Face folder that belong to the model.
//
// The table lists files to copy, not files to omit: a folder of a trainer also holds optimizer
// states, random number states, logs and caches, none of which may be copied with the weights.
// Python files (remote code) are omitted too; people copy them after reading them, and a note names
// those that a document names (core/model/json_documents.h).
#pragma once

#include <string_view>
#include <vector>

namespace ckpt {

enum class DocumentKind {
  kModel,       // configuration of the model and of its quantization
  kVocabulary,  // tokens and merges, in any form
  kTokenizer,   // whatever else makes the tokenizer
  kTemplate,    // of chats
  kInputs,      // images, video, sound
  kEmbedding,   // modules of embedding models
  kModules,     // the weights of these modules, which stay as they are
  kWords,       // written by people: a card, a license
};

// The globs of all kinds, over the path relative to the folder.
std::vector<std::string_view> document_globs();

// Whether `path` is one of those files.
bool is_document(std::string_view path);
bool is_document_of(DocumentKind kind, std::string_view path);

}  // namespace ckpt
