// Renames in the lists of modules of quantization statements, so that they follow the tensors.
//
//   "ignore": ["lm_head", "model.layers.0.mlp*", "re:^model\.layers\.0\..*"], exclude_modules,
//   modules_to_not_convert, targets, and the keys of quantized_layers; in hf_quant_config.json and
//   below quantization_config of config.json
//
// An entry may be a name, a glob or a regular expression, and a module's name is its tensors'
// without the last word.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// What becomes of a name, of a tensor or of the front of one; nullopt: it stays.
using NewName = std::function<std::optional<std::string>(const std::string& name)>;

struct RenamedModules {
  uint64_t renamed = 0;
  std::vector<std::string> unclear;  // expressions and globs that no prefix could be read from
};
// Renames by `rename` every entry that is a module's name, a glob with the star behind a name, or a
// regular expression that begins with a name. Fails: kCorrupt: a document is no JSON.
Result<RenamedModules> rename_quant_modules(Checkpoint& checkpoint, const NewName& rename);

}  // namespace ckpt
