// StarCoder2.
//
// Source: transformers models/starcoder2/{modeling,configuration}_starcoder2.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kStarcoder2Rows[] = {
    {"model.norm.bias", "hidden_size"},
    {".input_layernorm.bias",          "hidden_size"},
    {".post_attention_layernorm.bias", "hidden_size"},
    {".self_attn.q_proj.bias", "num_attention_heads*head_dim", ServerCut::kRows, "use_bias"},
    {".self_attn.k_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "use_bias"},
    {".self_attn.v_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "use_bias"},
    {".self_attn.o_proj.bias", "hidden_size", ServerCut::kWhole, "use_bias"},
    {".mlp.c_fc.weight",   "intermediate_size hidden_size", ServerCut::kRows},
    {".mlp.c_fc.bias",     "intermediate_size", ServerCut::kRows, "use_bias"},
    {".mlp.c_proj.weight", "hidden_size intermediate_size", ServerCut::kColumns},
    {".mlp.c_proj.bias",   "hidden_size", ServerCut::kWhole, "use_bias"},
};
constexpr FieldValue kStarcoder2Fields[] = {
    {"vocab_size", "49152"},        {"hidden_size", "3072"},
    {"intermediate_size", "12288"}, {"num_hidden_layers", "30"},
    {"num_attention_heads", "24"},  {"num_key_value_heads", "2"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"use_bias", "1"},              {"tie_word_embeddings", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kStarcoder2Rules[] = {rows::kFrame, rows::kAttention,
                                                               kStarcoder2Rows};

}  // namespace

constinit const ParameterTable kStarcoder2Parameters{"Starcoder2ForCausalLM", "starcoder2",
                                                     kStarcoder2Rules, kStarcoder2Fields};

}  // namespace ckpt
