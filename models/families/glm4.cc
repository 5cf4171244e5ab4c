// GLM 4 (0414): norms before and behind attention and MLP, gate and up in one.
//
// Sources: llama.cpp conversion/glm.py (Glm4Model); transformers models/glm4.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kGlm4Norms[] = {
    {".post_self_attn_layernorm.weight", "hidden_size"},
    {".post_mlp_layernorm.weight",       "hidden_size"},
};
constexpr ParameterRule kGlm4Mlp[] = {
    {".mlp.gate_up_proj.weight", "2*intermediate_size hidden_size", kRows},
    {".mlp.down_proj.weight",    "hidden_size intermediate_size", kColumns},
};
constexpr NameRule kGlm4Names[] = {   // before the common rows: the first match wins
    {"model.layers.{}.post_self_attn_layernorm", "blk.{}.post_attention_norm"},
    {"model.layers.{}.post_mlp_layernorm",       "blk.{}.post_ffw_norm"},
    {"model.layers.{}.mlp.gate_up_proj",         "blk.{}.ffn_up"},
};
constexpr KeyRule kGlm4Keys[] = {
    {"rope.dimension_count", kU32, "0.5", kPartialRotary},
};
constexpr ClassDefault kGlm4Defaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "13696"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "2"}, {"head_dim", "128"}, {"rms_norm_eps", "1.5625e-7", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "151552"},
    {"max_position_embeddings", "131072", kInKeys}, {"num_hidden_layers", "40", kInShapes},
    {"attention_bias", "1", kInShapes},
};
// clang-format on

}  // namespace

const Family kGlm4 = {
    .name = "glm4",
    .architectures = "Glm4ForCausalLM",
    .model_types = "glm4",
    .quirks = "ignores_layer_types activation:silu asks_nothing_of_rope skips_tied_head",
    .names = {kGlm4Names, rows::kCommonNames},
    .keys = kGlm4Keys,
    .defaults = kGlm4Defaults,
    .parameters = {rows::kFrame, rows::kAttention, kGlm4Norms, rows::kQkvAttentionBias, kGlm4Mlp},
    .tokenizer = {.special_tokens =
                      "eos=<|endoftext|> eot=<|user|> unk=<|endoftext|> bos=<|endoftext|>"},
};

}  // namespace ckpt
