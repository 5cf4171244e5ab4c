// GLM 4 (0414), dense.
//
// Source: transformers models/glm4/{modeling,configuration}_glm4.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kGlm4Layer[] = {
    {".post_self_attn_layernorm.weight", "hidden_size"},
    {".post_mlp_layernorm.weight",       "hidden_size"},
    {".self_attn.q_proj.bias", "num_attention_heads*head_dim", ServerCut::kRows, "attention_bias"},
    {".self_attn.k_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "attention_bias"},
    {".self_attn.v_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "attention_bias"},
    {".mlp.gate_up_proj.weight", "2*intermediate_size hidden_size", ServerCut::kRows},
    {".mlp.down_proj.weight",    "hidden_size intermediate_size", ServerCut::kColumns},
};
constexpr FieldValue kGlm4Fields[] = {
    {"vocab_size", "151552"},       {"hidden_size", "4096"},
    {"intermediate_size", "13696"}, {"num_hidden_layers", "40"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "2"},
    {"head_dim", "128"},            {"attention_bias", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kGlm4Rules[] = {rows::kFrame, rows::kAttention,
                                                         kGlm4Layer};

}  // namespace

constinit const ParameterTable kGlm4Parameters{"Glm4ForCausalLM", "glm4", kGlm4Rules, kGlm4Fields};

}  // namespace ckpt
