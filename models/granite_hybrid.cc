// Granite 4 H: each layer has Mamba 2 or attention, then experts with a shared MLP, or that alone.
//
// Source: transformers models/granitemoehybrid/{modeling,configuration}_granitemoehybrid.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kGraniteLayer[] = {
    {".self_attn.q_proj.weight", "num_attention_heads*head_dim hidden_size", ServerCut::kRows,
     "attention"},
    {".self_attn.k_proj.weight", "num_key_value_heads*head_dim hidden_size", ServerCut::kRows,
     "attention"},
    {".self_attn.v_proj.weight", "num_key_value_heads*head_dim hidden_size", ServerCut::kRows,
     "attention"},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*head_dim", ServerCut::kColumns,
     "attention"},
    {".mamba.A_log",   "mamba_n_heads", ServerCut::kRows, "mamba"},
    {".mamba.D",       "mamba_n_heads", ServerCut::kRows, "mamba"},
    {".mamba.dt_bias", "mamba_n_heads", ServerCut::kRows, "mamba"},
    {".mamba.conv1d.weight",
     "mamba_expand*hidden_size+2*mamba_n_groups*mamba_d_state 1 mamba_d_conv", ServerCut::kRows,
     "mamba"},
    {".mamba.conv1d.bias", "mamba_expand*hidden_size+2*mamba_n_groups*mamba_d_state",
     ServerCut::kRows, "mamba mamba_conv_bias"},
    {".mamba.in_proj.weight",
     "2*mamba_expand*hidden_size+2*mamba_n_groups*mamba_d_state+mamba_n_heads hidden_size",
     ServerCut::kRows, "mamba"},
    {".mamba.norm.weight", "mamba_expand*hidden_size", ServerCut::kRows, "mamba"},
    {".mamba.out_proj.weight", "hidden_size mamba_expand*hidden_size", ServerCut::kColumns,
     "mamba"},
    {".block_sparse_moe.router.layer.weight", "num_local_experts hidden_size", ServerCut::kWhole,
     "num_local_experts"},
    {".block_sparse_moe.input_linear.weight",
     "num_local_experts 2*intermediate_size hidden_size", ServerCut::kRows, "num_local_experts"},
    {".block_sparse_moe.output_linear.weight", "num_local_experts hidden_size intermediate_size",
     ServerCut::kColumns, "num_local_experts"},
    {".shared_mlp.input_linear.weight",  "2*shared_intermediate_size hidden_size",
     ServerCut::kRows},
    {".shared_mlp.output_linear.weight", "hidden_size shared_intermediate_size",
     ServerCut::kColumns},
};
constexpr FieldValue kGraniteHybridFields[] = {
    {"vocab_size", "32000"},        {"hidden_size", "4096"},
    {"intermediate_size", "11008"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "num_attention_heads"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"num_local_experts", "8"},     {"shared_intermediate_size", "1024"},
    {"mamba_n_heads", "128"},       {"mamba_n_groups", "1"},
    {"mamba_d_state", "256"},       {"mamba_d_conv", "4"},
    {"mamba_expand", "2"},          {"mamba_conv_bias", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kGraniteHybridRules[] = {rows::kFrame, kGraniteLayer};

}  // namespace

constinit const ParameterTable kGraniteHybridParameters{
    "GraniteMoeHybridForCausalLM", "granitemoehybrid", kGraniteHybridRules, kGraniteHybridFields};

}  // namespace ckpt
