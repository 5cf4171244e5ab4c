// EXAONE 3 and 3.5: Llama's layers under names of their own, with RoPE by halves.
//
// Sources: llama.cpp conversion/exaone.py (ExaoneModel), which writes layer_norm_epsilon under the
// key of LayerNorm; modeling_exaone.py, which is published with the models.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kExaoneRows = spread([] { return std::to_array<ParameterRule>({
    {"transformer.wte.weight",            "vocab_size hidden_size"},
    {"transformer.ln_f.weight",           "hidden_size"},
    {"lm_head.weight",                    "vocab_size hidden_size", kWhole, "head"},
    {".ln_{1,2}.weight", "hidden_size"},
    {".attn.attention.q_proj.weight",     "num_attention_heads*head_dim hidden_size", kRows},
    {".attn.attention.{k,v}_proj.weight", "num_key_value_heads*head_dim hidden_size", kRows},
    {".attn.attention.out_proj.weight",   "hidden_size num_attention_heads*head_dim", kColumns},
    {".mlp.c_fc_{0,1}.weight", "intermediate_size hidden_size", kRows},
    {".mlp.c_proj.weight",                "hidden_size intermediate_size", kColumns},
}); });
constexpr auto kExaoneNames = spread([] { return std::to_array<NameRule>({
    {"transformer.wte",                           "token_embd"},
    {"transformer.ln_f",                          "output_norm"},
    {"lm_head",                                   "output"},
    {"transformer.h.{}.ln_{1,2}", "blk.{}.{attn,ffn}_norm"},
    {"transformer.h.{}.attn.attention.{q,k,v,out}_proj", "blk.{}.attn_{q,k,v,output}"},
    {"transformer.h.{}.mlp.c_{fc_0,fc_1,proj}", "blk.{}.ffn_{gate,up,down}"},
}); });
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
