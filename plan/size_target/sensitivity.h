// How strongly a relative error of a tensor's values changes the output of the model, depending on
// the tensor's role and position. Only ratios matter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

// The role: "ffn_down" for "blk.3.ffn_down.weight", "output" for "output.weight".
std::string role_of(std::string_view tensor);

// `is_tied`: output.weight is missing, so the embeddings are also the output.
double sensitivity_of(std::string_view tensor, bool is_tied);

// Does the same for a layer by its Hugging Face name ("model.layers.3.mlp.down_proj"); for a single
// expert it returns that of the stack.
double sensitivity_of_layer(std::string_view module);

// The names of a layer's tensors in a GGUF ("blk.3.ffn_down.weight"), by the rules of families. A
// module that no family knows keeps its last word.
std::vector<std::string> gguf_names_of_layer(std::string_view module);

}  // namespace ckpt
