// Names of single experts: of gpt-oss as Unsloth saves it, and of GGUFs of early 2024.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

// A tensor of one expert of gpt-oss as Unsloth saves it, a linear layer. Its weight is transposed
// relative to the stack that gpt-oss has. nullopt: the name is not that of such a tensor.
struct LinearExpert {
  std::string stack;  // "model.layers.0.mlp.experts.down_proj_bias"
  uint64_t number;
};
std::optional<LinearExpert> linear_expert(std::string_view name);
// A tensor of one expert of a GGUF, "blk.3.ffn_gate.1.weight"; its stack is
// "blk.3.ffn_gate_exps.weight". Source: llama.cpp src/llama-arch.cpp (LLM_TENSOR_FFN_GATE_EXP).
std::optional<LinearExpert> single_gguf_expert(std::string_view name);
// The name that gpt-oss has for any other tensor of such a model: Unsloth's router is a linear
// layer as well.
std::string name_beside_stacks(std::string name);

}  // namespace ckpt
