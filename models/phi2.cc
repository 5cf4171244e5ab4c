// Phi-1, 1.5 and 2.
//
// Source: transformers models/phi/{modeling,configuration}_phi.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kPhi2Rows[] = {
    {"model.embed_tokens.weight",    "vocab_size hidden_size"},
    {"model.final_layernorm.weight", "hidden_size"},
    {"model.final_layernorm.bias",   "hidden_size"},
    {"lm_head.weight",               "vocab_size hidden_size", ServerCut::kWhole, "head"},
    {"lm_head.bias",                 "vocab_size", ServerCut::kWhole, "head"},
    {".input_layernorm.weight",      "hidden_size"},
    {".input_layernorm.bias",        "hidden_size"},
    {".self_attn.q_proj.weight", "num_attention_heads*head_dim hidden_size", ServerCut::kRows},
    {".self_attn.k_proj.weight", "num_key_value_heads*head_dim hidden_size", ServerCut::kRows},
    {".self_attn.v_proj.weight", "num_key_value_heads*head_dim hidden_size", ServerCut::kRows},
    {".self_attn.dense.weight",  "hidden_size num_attention_heads*head_dim", ServerCut::kColumns},
    {".self_attn.dense.bias",    "hidden_size"},
    {".mlp.fc1.weight", "intermediate_size hidden_size", ServerCut::kRows},
    {".mlp.fc1.bias",   "intermediate_size", ServerCut::kRows},
    {".mlp.fc2.weight", "hidden_size intermediate_size", ServerCut::kColumns},
    {".mlp.fc2.bias",   "hidden_size"},
};
constexpr FieldValue kPhi2Fields[] = {
    {"vocab_size", "51200"},        {"hidden_size", "2048"},
    {"intermediate_size", "8192"},  {"num_hidden_layers", "24"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "num_attention_heads"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
// clang-format on

constexpr std::span<const ParameterRule> kPhi2Rules[] = {kPhi2Rows, rows::kQkvBias};

}  // namespace

constinit const ParameterTable kPhi2Parameters{"PhiForCausalLM", "phi", kPhi2Rules, kPhi2Fields};

}  // namespace ckpt
