// Apertus: Llama's layers with norms of queries and keys. Its activation xIELU has parameters in
// each layer, which a GGUF stores as metadata keys.
//
// Sources: llama.cpp conversion/llama.py (ApertusModel); transformers models/apertus.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kApertusLayer = spread([] { return std::to_array<ParameterRule>({
    {".{attention,feedforward}_layernorm.weight", "hidden_size"},
    {".mlp.act_fn.alpha_{n,p}", "1"},
    {".mlp.act_fn.{beta,eps}", ""},
}); });
constexpr auto kApertusNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.{attention,feedforward}_layernorm", "blk.{}.{attn,ffn}_norm"},
    {"model.layers.{}.mlp.act_fn.{alpha_n,alpha_p,beta,eps}", ""},
}); });
constexpr auto kApertusEarlyKeys = spread([] { return std::to_array<KeyRule>({
    {"xielu.{alpha_n,alpha_p,beta,eps}", kArray,
     "model.layers.{}.mlp.act_fn.{alpha_n,alpha_p,beta,eps}", kLayerScalars},
}); });
constexpr ClassDefault kApertusDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "14336"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "12000000", kInKeys},
    {"vocab_size", "131072"}, {"max_position_embeddings", "65536", kInKeys},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth,
};
// clang-format on

}  // namespace

const Family kApertus = {
    .name = "apertus",
    .architectures = "ApertusForCausalLM",
    .model_types = "apertus",
    .activation = {"xielu", "hidden_act"},
    .names = {kApertusNames, rows::kCommonNames},
    .keys = rows::kLlamaKeys,
    .keys_around = {.early = kApertusEarlyKeys},
    .defaults = kApertusDefaults,
    .rope = {.by_default = R"({"rope_type": "llama3", "rope_theta": 12000000.0, "factor": 8.0,
            "original_max_position_embeddings": 8192, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0})",
             .has_factors = true},
    .parameters = {rows::kOuterFrame, rows::kAttention, rows::kAttentionNorms, rows::kAttentionBias,
                   kApertusLayer, rows::kGatelessMlp},
    .tokenizer = kLlamaTokenizer,
};

}  // namespace ckpt
