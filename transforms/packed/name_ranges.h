// Many names in few words.
//
//   model.layers.0.mlp.gate_proj, model.layers.0.mlp.up_proj, model.layers.1.mlp.gate_proj, ...
//     ─▶ model.layers.{0..7}.mlp.{gate,up}_proj
//
// Nothing is said that is not there. Numbers that are not a full grid (experts that only some
// layers have) are split until each piece is one. Behind the eighth number of a name, numbers are
// words like any other.
#pragma once

#include <string>
#include <vector>

namespace ckpt {

// Names in the order in which the first of each piece comes. Braces hold numbers ("0..3,7") or the
// last words of names that are alike but for them.
std::vector<std::string> summarize_names(const std::vector<std::string>& names);

}  // namespace ckpt
