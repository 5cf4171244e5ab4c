// Reads and edits documents that are JSON objects, and finds the files that they name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/json/json_edit.h"
#include "core/json/json_read.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// Returns the content of the document at `path`, parsed once for all callers; nullptr if it does
// not exist. Fails: as Document::values; kCorrupt if it is not an object.
Result<std::shared_ptr<const JsonValue>> read_object(const Checkpoint& checkpoint,
                                                     std::string_view path);

// Returns architectures[0] of config.json, or general.architecture of a GGUF; empty if not set.
std::string architecture_of(const Checkpoint& checkpoint);

// A document to edit: its content and its layout.
struct JsonDocument {
  JsonText root;
  JsonStyle style;
};
// Returns an editable copy of the document at `path`; nullopt if it does not exist. Fails: as
// read_object.
Result<std::optional<JsonDocument>> read_json(const Checkpoint& checkpoint, std::string_view path);
// Returns config.json as a JSON object; nullopt if it does not exist. Fails: as read_object.
Result<std::optional<JsonText>> read_config(const Checkpoint& checkpoint);
// Stores the document in `checkpoint`; if its content did not change, it keeps every byte.
void write_json(Checkpoint& checkpoint, std::string_view path, const JsonDocument& document);

// Files that documents of a Hugging Face folder name but that are not documents themselves.
//
//   config.json            {"auto_map": {"AutoModel": "modeling_x.XModel"}}         modeling_x.py
//   tokenizer_config.json  {"auto_map": {"AutoTokenizer": ["tokenization_x.X", null]}}
//   modules.json           [{"path": "", "type": "custom_st.Transformer"},          custom_st.py
//                           {"path": "2_Router", "type": "sentence_transformers.models.Router"}]
//
// A name that begins with a repository ("org/name--modeling_x.XModel") belongs to that repository.
struct NamedFile {
  std::string document;  // "config.json"
  std::string path;      // "modeling_x.py", "2_Router/"
};

// Python files that documents name, without duplicates, sorted by path.
std::vector<NamedFile> named_code(const Checkpoint& checkpoint);

// A module of sentence-transformers: its entry in modules.json. The list is empty if the document
// is missing or is not JSON, which other code reports.
struct SentenceModule {
  std::string path, type;  // "2_Dense", "sentence_transformers.models.Dense"
};
std::vector<SentenceModule> sentence_modules(const Checkpoint& checkpoint);

// Folders in modules.json without any document in `checkpoint`. Modules that need no files do not
// count.
std::vector<NamedFile> modules_without_files(const Checkpoint& checkpoint);

}  // namespace ckpt
