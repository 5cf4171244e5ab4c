// SmolLM3: Llama's layers under defaults of their own.
//
// Sources: llama.cpp conversion/llama.py (SmolLM3Model); transformers models/smollm3.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ClassDefault kSmolLm3Defaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "11008"}, {"num_attention_heads", "16"},
    rows::key_heads("4"), {"rms_norm_eps", "1e-6", kInKeys}, {"rope_theta", "2000000", kInKeys},
    {"vocab_size", "128256"}, {"max_position_embeddings", "32768", kInKeys},
    {"num_hidden_layers", "36", kInShapes}, rows::kHeadOfWidth,
    {"tie_word_embeddings", "1", kInShapes},
};
// clang-format on

}  // namespace

const Family kSmolLm3 = {
    .name = "smollm3",
    .architectures = "SmolLM3ForCausalLM",
    .model_types = "smollm3",
    .traits = {.text = {.set = {kListsRotatingLayers, kActivationSilu}}},
    .names = rows::kPairLists,
    .keys = rows::kLlamaKeys,
    .defaults = kSmolLm3Defaults,
    .rope = {.has_factors = true},
    .parameters = rows::kLlamaRules,
    .tokenizer = kLlamaTokenizer,
    .graph = {.constants = {{"no_rope_layer_interval", "4"}}},
};

}  // namespace ckpt
