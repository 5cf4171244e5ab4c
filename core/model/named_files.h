// Files that documents of a Hugging Face folder name, and that are not documents themselves.
//
//   config.json            {"auto_map": {"AutoModel": "modeling_x.XModel"}}         modeling_x.py
//   tokenizer_config.json  {"auto_map": {"AutoTokenizer": ["tokenization_x.X", null]}}
//   modules.json           [{"path": "", "type": "custom_st.Transformer"},          custom_st.py
//                           {"path": "2_Router", "type": "sentence_transformers.models.Router"}]
//
// A name that begins with a repository ("org/name--modeling_x.XModel") belongs to that repository.
#pragma once

#include <string>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

struct NamedFile {
  std::string document;  // "config.json"
  std::string path;      // "modeling_x.py", "2_Router/"
};

// Python files that documents name, each once, sorted by path.
std::vector<NamedFile> named_code(const Checkpoint& checkpoint);

// Folders of modules.json of which `checkpoint` has no document. Modules without files do not
// count.
std::vector<NamedFile> modules_without_files(const Checkpoint& checkpoint);

}  // namespace ckpt
