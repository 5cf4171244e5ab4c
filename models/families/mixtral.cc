// Mixtral: Llama with experts, whose names are w1 (gate), w2 (down) and w3 (up).
//
// Sources: llama.cpp conversion/llama.py (LlamaModel.modify_tensors); transformers models/mixtral.
// Stacks come w1, w2, w3, which is gate, down, up; the class leaves head_dim open. Experts stand
// under block_sparse_moe in files, whatever the class calls them now.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ClassDefault kMixtralDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "14336"}, {"num_attention_heads", "32"},
    rows::key_heads("8"), {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "1e6", kInKeys},
    {"vocab_size", "32000"}, {"max_position_embeddings", "131072", kInKeys},
    {"num_experts_per_tok", "2", kInKeys}, {"num_local_experts", "8"},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth,
    {"num_experts", "num_local_experts", kInShapes}, rows::kAllSparse,
};
// clang-format on

}  // namespace

const Family kMixtral = {
    .name = "llama",
    .architectures = "MixtralForCausalLM",
    .model_types = "mixtral",
    .quirks =
        "stops_at:head_dim=z ignores_layer_types own_config:Mixtral asks_nothing_of_rope"
        " theta_outside looks_up_proj_scales norms_feed_linears experts_under_mlp",
    .names = {rows::kPairNames, rows::kSparseMoeNames, rows::kCommonNames},
    .keys = rows::kLlamaKeys,
    .defaults = kMixtralDefaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kSparseMoe},
    .has_rope_factors = true,
    .tokenizer = kLlamaTokenizer,
};

}  // namespace ckpt
