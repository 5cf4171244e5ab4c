// Qwen3-Next: Qwen3.5's layers, with query, key, value and gate in one projection.
//
// Source: transformers models/qwen3_next/{modeling,configuration}_qwen3_next.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kQwen3NextLinear[] = {
    {".linear_attn.in_proj_qkvz.weight",
     "2*linear_num_key_heads*linear_key_head_dim+2*linear_num_value_heads*linear_value_head_dim"
     " hidden_size", ServerCut::kRows, "linear_attention"},
    {".linear_attn.in_proj_ba.weight", "2*linear_num_value_heads hidden_size", ServerCut::kRows,
     "linear_attention"},
    {".linear_attn.conv1d.weight",
     "2*linear_num_key_heads*linear_key_head_dim+linear_num_value_heads*linear_value_head_dim"
     " 1 linear_conv_kernel_dim", ServerCut::kRows, "linear_attention"},
    {".linear_attn.A_log",   "linear_num_value_heads", ServerCut::kRows, "linear_attention"},
    {".linear_attn.dt_bias", "linear_num_value_heads", ServerCut::kRows, "linear_attention"},
    {".linear_attn.norm.weight", "linear_value_head_dim", ServerCut::kWhole, "linear_attention"},
    {".linear_attn.out_proj.weight",
     "hidden_size linear_num_value_heads*linear_value_head_dim", ServerCut::kColumns,
     "linear_attention"},
};
constexpr FieldValue kQwen3NextFields[] = {
    {"vocab_size", "151936"},      {"hidden_size", "2048"},
    {"intermediate_size", "5632"}, {"num_hidden_layers", "48"},
    {"num_attention_heads", "16"}, {"num_key_value_heads", "2"},
    {"head_dim", "256"},           {"full_attention_interval", "4"},
    {"linear_conv_kernel_dim", "4"}, {"linear_key_head_dim", "128"},
    {"linear_value_head_dim", "128"}, {"linear_num_key_heads", "16"},
    {"linear_num_value_heads", "32"},
    {"num_experts", "512"},        {"moe_intermediate_size", "512"},
    {"decoder_sparse_step", "1"},  {"shared_expert_intermediate_size", "512"},
};
// clang-format on

constexpr std::span<const ParameterRule> kQwen3NextRules[] = {
    rows::kFrame, rows::kGatedAttention, kQwen3NextLinear,
    rows::kMlp,   rows::kExperts,        rows::kSharedExpert};

}  // namespace

constinit const ParameterTable kQwen3NextParameters{
    "Qwen3NextForCausalLM", "qwen3_next", kQwen3NextRules, kQwen3NextFields, false, true};

}  // namespace ckpt
