// How much a relative error of a tensor's values shifts what the model says, by the tensor's role
// and its place in the model. Only ratios count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ckpt {

// "blk.3.ffn_down.weight" is "ffn_down", "output.weight" is "output".
std::string role_of(std::string_view tensor);

// `layers`: of the model; 0 when not known. `is_tied`: output.weight is missing, so the
// embeddings are also the output.
double sensitivity_of(std::string_view tensor, uint64_t layers, bool is_tied);

// The same of a layer as Hugging Face names it: "model.layers.3.mlp.down_proj"; a stack of experts
// for one of its experts.
double sensitivity_of_layer(std::string_view module);

// Its name in a GGUF, "blk.3.ffn_down.weight"; of an expert that of the stack of all. A guess from
// the last word: no more than what a file of sensitivities may call it.
std::string gguf_name_of_layer(std::string_view module);

}  // namespace ckpt
