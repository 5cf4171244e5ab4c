// A model of a class that no table has, read by the table of another class.
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

// The families, architectures and model types of all tables.
std::vector<std::string> like_names();

inline constexpr OptionRule kLikeRule =
    option::choice("like", {},
                   "read an unknown class by the table of this family or architecture; ckpt list "
                   "families names them")
        .called("NAME")
        .or_word("a family or an architecture of ckpt list families", like_names);

// A class of the family: `name` itself if it is one; with `has_towers` one that has towers.
std::string class_like(const Family& family, std::string_view name, bool has_towers);
// Writes class and model type into config.json. Requires: a name of like_names(). Fails: kUsage
// without config.json; kCorrupt.
Status make_like(Checkpoint& checkpoint, std::string_view name);

}  // namespace ckpt
