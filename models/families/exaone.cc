// EXAONE 3 and 3.5: Llama's layers under names of their own, with RoPE by halves.
//
// Sources: llama.cpp conversion/exaone.py (ExaoneModel), which writes layer_norm_epsilon under the
// key of LayerNorm; modeling_exaone.py, which is published with the models.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kExaoneRows[] = {
    {"transformer.wte.weight",            "vocab_size hidden_size"},
    {"transformer.ln_f.weight",           "hidden_size"},
    {"lm_head.weight",                    "vocab_size hidden_size", kWhole, "head"},
    {".ln_1.weight",                      "hidden_size"},
    {".ln_2.weight",                      "hidden_size"},
    {".attn.attention.q_proj.weight",     "num_attention_heads*head_dim hidden_size", kRows},
    {".attn.attention.k_proj.weight",     "num_key_value_heads*head_dim hidden_size", kRows},
    {".attn.attention.v_proj.weight",     "num_key_value_heads*head_dim hidden_size", kRows},
    {".attn.attention.out_proj.weight",   "hidden_size num_attention_heads*head_dim", kColumns},
    {".mlp.c_fc_0.weight",                "intermediate_size hidden_size", kRows},
    {".mlp.c_fc_1.weight",                "intermediate_size hidden_size", kRows},
    {".mlp.c_proj.weight",                "hidden_size intermediate_size", kColumns},
};
constexpr NameRule kExaoneNames[] = {
    {"transformer.wte",                           "token_embd"},
    {"transformer.ln_f",                          "output_norm"},
    {"lm_head",                                   "output"},
    {"transformer.h.{}.ln_1",                     "blk.{}.attn_norm"},
    {"transformer.h.{}.ln_2",                     "blk.{}.ffn_norm"},
    {"transformer.h.{}.attn.attention.q_proj",    "blk.{}.attn_q"},
    {"transformer.h.{}.attn.attention.k_proj",    "blk.{}.attn_k"},
    {"transformer.h.{}.attn.attention.v_proj",    "blk.{}.attn_v"},
    {"transformer.h.{}.attn.attention.out_proj",  "blk.{}.attn_output"},
    {"transformer.h.{}.mlp.c_fc_0",               "blk.{}.ffn_gate"},
    {"transformer.h.{}.mlp.c_fc_1",               "blk.{}.ffn_up"},
    {"transformer.h.{}.mlp.c_proj",               "blk.{}.ffn_down"},
};
constexpr KeyRule kExaoneKeys[] = {
    {"rope.dimension_count", kU32, "", kPartialHidden},
};
constexpr auto kExaoneDefaults = rows::in_shapes({
    {"vocab_size", "102400"}, {"hidden_size", "2048"}, {"num_hidden_layers", "num_layers"},
    {"num_layers", "32"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "num_attention_heads"}, {"intermediate_size", "hidden_size*4"},
    {"head_dim", "hidden_size/num_attention_heads"},
});
// clang-format on

}  // namespace

const Family kExaone = {
    .name = "exaone",
    .architectures = "ExaoneForCausalLM",
    .model_types = "exaone",
    .activation = {"silu", "activation_function", true},
    .names = {kExaoneNames},
    .keys = kExaoneKeys,
    .keys_around = {.own_spellings = "layer_norm_epsilon"},
    .defaults = kExaoneDefaults,
    .rope = {.has_factors = true},
    .parameters = {kExaoneRows},
    .root = "transformer.",
    .layers = "h.",
};

}  // namespace ckpt
