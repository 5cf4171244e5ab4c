// Makes a step read a model of an unknown class by the table of another class.
//
//   config.json   architectures [MysteryForCausalLM]   model_type mystery
//   like=qwen3    architectures [Qwen3ForCausalLM]     model_type qwen3      while the step runs
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint.h"
#include "core/model/step_options.h"
#include "models/models.h"

namespace ckpt {

// Lists the names of families, architectures and model types in all tables.
std::vector<std::string> like_names();

inline constexpr OptionRule kLikeRule =
    option::choice("like", {},
                   "read an unknown class by the table of this family or architecture; ckpt list "
                   "families names them")
        .called("NAME")
        .or_word("a family or an architecture of ckpt list families", like_names);

// Returns `name` if it is a class of the family. Otherwise returns a class of the family that has
// towers or not, as `has_towers` says, or else the first class.
std::string class_like(const Family& family, std::string_view name, bool has_towers);
// Writes the class and the model type of `name` into config.json. Requires: `name` is in
// like_names(). Fails: kUsage: no config.json; kCorrupt: it cannot be parsed.
Status make_like(Checkpoint& checkpoint, std::string_view name);

}  // namespace ckpt
