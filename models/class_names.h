// Names of tensors in the classes of transformers, and in the files that are saved from them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// A part of tensor names that differs between a class of transformers and the files of released
// models, as ".mlp." and ".block_sparse_moe.". PEFT uses the names of the class. A part with ^ in
// front matches only at the beginning of a name.
struct ClassName {
  std::string_view in_class, in_file;
};
// The differences that apply to the model_types in config.json. Source: data/class_names.txt.
std::vector<ClassName> class_names_of(const Checkpoint& model);
// Translates the name of a tensor in the class into other names that the files may use for it.
std::vector<std::string> file_names(const std::string& tensor, const std::vector<ClassName>& words);
// Translates the name of a tensor in a file into the names that it may have in the class. A file
// may have names that no release has: transformers 5 turns each rule around when it saves, but not
// their order.
std::vector<std::string> names_in_class(const std::string& tensor,
                                        const std::vector<ClassName>& words);

}  // namespace ckpt
