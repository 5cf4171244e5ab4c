// Granite 3, dense and with experts; Granite 4: each layer has Mamba 2 or attention, then experts
// with a shared MLP, or that alone.
//
// Source: transformers models/granite{,moe,moeshared,moehybrid}/{modeling,configuration}_*.py.
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
    {".self_attn.q_proj.bias", "num_attention_heads*head_dim", ServerCut::kRows,
     "attention attention_bias"},
    {".self_attn.k_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows,
     "attention attention_bias"},
    {".self_attn.v_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows,
     "attention attention_bias"},
    {".self_attn.o_proj.bias", "hidden_size", ServerCut::kWhole, "attention attention_bias"},
    {".mamba.in_proj.bias",
     "2*mamba_expand*hidden_size+2*mamba_n_groups*mamba_d_state+mamba_n_heads",
     ServerCut::kRows, "mamba mamba_proj_bias"},
    {".mamba.out_proj.bias", "hidden_size", ServerCut::kWhole, "mamba mamba_proj_bias"},
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
};
constexpr ParameterRule kGraniteExperts[] = {
    {".block_sparse_moe.router.layer.weight", "num_local_experts hidden_size", ServerCut::kWhole,
     "num_local_experts"},
    {".block_sparse_moe.input_linear.weight",
     "num_local_experts 2*intermediate_size hidden_size", ServerCut::kRows, "num_local_experts"},
    {".block_sparse_moe.output_linear.weight", "num_local_experts hidden_size intermediate_size",
     ServerCut::kColumns, "num_local_experts"},
};
constexpr ParameterRule kGraniteSharedMlp[] = {
    {".shared_mlp.input_linear.weight",  "2*shared_intermediate_size hidden_size",
     ServerCut::kRows, "shared_intermediate_size"},
    {".shared_mlp.output_linear.weight", "hidden_size shared_intermediate_size",
     ServerCut::kColumns, "shared_intermediate_size"},
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
constexpr FieldValue kGranite3Fields[] = {
    {"vocab_size", "32000"},        {"hidden_size", "4096"},
    {"intermediate_size", "11008"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "num_attention_heads"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
constexpr FieldValue kGranite3MoeFields[] = {
    {"vocab_size", "32000"},        {"hidden_size", "4096"},
    {"intermediate_size", "11008"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "num_attention_heads"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"num_local_experts", "8"},
};
// clang-format on

constexpr std::span<const ParameterRule> kGraniteHybridRules[] = {
    rows::kFrame, kGraniteLayer, kGraniteExperts, kGraniteSharedMlp};
constexpr std::span<const ParameterRule> kGranite3Rules[] = {
    rows::kFrame, rows::kAttention, rows::kAttentionBias, rows::kMlp, rows::kMlpBias};
constexpr std::span<const ParameterRule> kGranite3MoeRules[] = {
    rows::kFrame, rows::kAttention, rows::kAttentionBias, kGraniteExperts};
constexpr std::span<const ParameterRule> kGranite3SharedRules[] = {
    rows::kFrame, rows::kAttention, rows::kAttentionBias, kGraniteExperts, kGraniteSharedMlp};

}  // namespace

constinit const ParameterTable kGraniteHybridParameters{
    "GraniteMoeHybridForCausalLM", "granitemoehybrid", kGraniteHybridRules, kGraniteHybridFields};
constinit const ParameterTable kGranite3Parameters{"GraniteForCausalLM", "granite", kGranite3Rules,
                                                   kGranite3Fields};
constinit const ParameterTable kGranite3MoeParameters{"GraniteMoeForCausalLM", "granitemoe",
                                                      kGranite3MoeRules, kGranite3MoeFields};
constinit const ParameterTable kGranite3SharedParameters{
    "GraniteMoeSharedForCausalLM", "granitemoeshared", kGranite3SharedRules, kGranite3MoeFields};

}  // namespace ckpt
