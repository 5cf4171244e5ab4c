// StableLM, without norms of single heads.
//
// Source: transformers models/stablelm/{modeling,configuration}_stablelm.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kStableLmFrame[] = {
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"model.norm.weight",         "hidden_size"},
    {"model.norm.bias",           "hidden_size"},
    {"lm_head.weight",            "vocab_size hidden_size", ServerCut::kWhole, "head"},
    {".input_layernorm.weight",   "hidden_size"},
    {".input_layernorm.bias",     "hidden_size"},
    {".post_attention_layernorm.weight", "hidden_size", ServerCut::kWhole, "optional"},
    {".post_attention_layernorm.bias",   "hidden_size", ServerCut::kWhole, "optional"},
    {".self_attn.q_proj.bias", "num_attention_heads*head_dim", ServerCut::kRows, "use_qkv_bias"},
    {".self_attn.k_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "use_qkv_bias"},
    {".self_attn.v_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "use_qkv_bias"},
};
constexpr FieldValue kStableLmFields[] = {
    {"vocab_size", "50304"},        {"hidden_size", "2560"},
    {"intermediate_size", "6912"},  {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "32"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
// clang-format on

constexpr std::span<const ParameterRule> kStableLmRules[] = {kStableLmFrame, rows::kAttention,
                                                             rows::kMlp};

}  // namespace

constinit const ParameterTable kStableLmParameters{"StableLmForCausalLM", "stablelm",
                                                   kStableLmRules, kStableLmFields};

}  // namespace ckpt
