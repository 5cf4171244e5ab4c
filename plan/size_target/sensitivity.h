// How much a relative error of a tensor's values changes the output of the model, by the tensor's
// role and its place in the model. Only ratios matter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

// "blk.3.ffn_down.weight" is "ffn_down", "output.weight" is "output".
std::string role_of(std::string_view tensor);

// `is_tied`: output.weight is missing, so the embeddings are also the output.
double sensitivity_of(std::string_view tensor, bool is_tied);

// The same for a layer by its name in Hugging Face, "model.layers.3.mlp.down_proj"; for a single
// expert that of the stack.
double sensitivity_of_layer(std::string_view module);

// The names of such a layer in a GGUF ("blk.3.ffn_down.weight"), by the rules of families. A module
// that no family has keeps its last word.
std::vector<std::string> gguf_names_of_layer(std::string_view module);

}  // namespace ckpt
