// Parses names of tensors: "model.layers.0.mlp.experts.3.up_proj.weight" is the weight of
// module "model.layers.0.mlp.experts.3.up_proj", which belongs to expert 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

inline constexpr std::string_view kWeight = ".weight";

// The part before the last dot: the module of "P.weight", "P.bias", "P.input_scale"; "" if the name
// has no dot.
std::string module_of(std::string_view tensor);
// The part after the last dot, or the entire name.
std::string_view last_word(std::string_view name);
// The name in lists of modules: P for "P.weight"; the entire name for other parameters, such as a
// stack of experts.
std::string listed_name(std::string_view tensor);

// Whether a tensor or module belongs to the head, the layer that computes logits: "lm_head.weight",
// "language_model.lm_head", "output.weight" in a GGUF.
bool is_of_head(std::string_view name);
// Whether it is the embeddings of tokens: "model.embed_tokens.weight", "transformer.wte",
// "token_embd.weight" in a GGUF.
bool is_of_embeddings(std::string_view name);

// A name split at its last "experts.N.".
struct ExpertName {
  std::string_view front;  // "model.layers.0.mlp.experts."
  uint64_t number;
  std::string_view rest;  // "up_proj" or "up_proj.weight"
};
// Returns nullopt for tensors that belong to no expert, or to a stack of all experts.
std::optional<ExpertName> expert_name(std::string_view name);
// Returns "….mlp.experts" for the tensors and modules below it, including stacks; "" for others.
std::string_view experts_module(std::string_view name);
inline bool is_of_expert(std::string_view name) { return expert_name(name).has_value(); }
// Whether it belongs to one expert or to a stack of all.
inline bool is_of_experts(std::string_view name) { return !experts_module(name).empty(); }

// The number N of "blk.N." in a GGUF; -1 for tensors outside of blocks.
int64_t block_of(std::string_view name);
// The order of tensors in files of llama-quantize: by block, then by the bytes of the name. Source:
// llama.cpp src/llama-model-loader.h (weight_name_comparer).
bool quantized_order(std::string_view a, std::string_view b);

}  // namespace ckpt
