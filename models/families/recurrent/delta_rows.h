// Rows of models with Kimi Delta Attention (KDA) and latent attention (MLA) between its layers.
#pragma once

#include "models/families/rows.h"

namespace ckpt::rows {

// clang-format off
inline constexpr auto kDelta = spread([] { return under("linear_attention", {
    {".self_attn.{q,k,v}_proj.weight", "linear_width hidden_size", kRows},
    {".self_attn.{q,k,v}_conv1d.weight",
     "linear_width 1 linear_attn_config.short_conv_kernel_size", kRows},
    {".self_attn.dt_bias",         "linear_width", kRows},
    {".self_attn.b_proj.weight",   "linear_attn_config.num_heads hidden_size", kRows},
    {".self_attn.f_a_proj.weight", "linear_attn_config.head_dim hidden_size"},
    {".self_attn.f_b_proj.weight", "linear_width linear_attn_config.head_dim", kRows},
    {".self_attn.o_norm.weight",   "linear_attn_config.head_dim"},
    {".self_attn.o_proj.weight",   "hidden_size linear_width", kColumns},
}); });
inline constexpr auto kDeltaGates = under("linear_attention", {
    {".self_attn.g_a_proj.weight", "linear_attn_config.head_dim hidden_size"},
    {".self_attn.g_b_proj.weight", "linear_width linear_attn_config.head_dim", kRows},
});
inline constexpr auto kLatentQueries = under("full_attention", {
    {".self_attn.q_a_proj.weight", "q_lora_rank hidden_size"},
    {".self_attn.q_a_layernorm.weight", "q_lora_rank"},
    {".self_attn.q_b_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*qk_rope_head_dim q_lora_rank",
     kRows},
});
inline constexpr auto kDeltaLatent = under("full_attention", {
    {".self_attn.kv_a_proj_with_mqa.weight", "kv_lora_rank+qk_rope_head_dim hidden_size"},
    {".self_attn.kv_a_layernorm.weight", "kv_lora_rank"},
    {".self_attn.kv_b_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*v_head_dim kv_lora_rank", kRows},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*v_head_dim", kColumns},
});
inline constexpr ClassDefault kDeltaWidth{
    "linear_width", "linear_attn_config.num_heads*linear_attn_config.head_dim", kInShapes};
inline constexpr auto kDeltaNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.self_attn.A_log",           "blk.{}.ssm_a", kNegExp},
    {"model.layers.{}.self_attn.dt_bias",         "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.self_attn.{q,k,v}_conv1d.weight", "blk.{}.ssm_conv1d_{q,k,v}.weight",
     kConvolutionRows, Store::kF32},
    {"model.layers.{}.self_attn.{b_proj,f_a_proj,f_b_proj,g_a_proj,g_b_proj,o_norm}",
     "blk.{}.ssm_{beta,f_a,f_b,g_a,g_b,norm}"},
    {"model.layers.{}.self_attn.{q_a_proj,q_b_proj,q_a_layernorm}",
     "blk.{}.attn_{q_a,q_b,q_a_norm}"},
    {"model.layers.{}.self_attn.kv_a_{proj_with_mqa,layernorm}", "blk.{}.attn_kv_a_{mqa,norm}"},
    {"model.layers.{}.self_attn.kv_b_proj.weight", "blk.{}.attn_k_b.weight", kKeyValue,
     Store::kByRules, "blk.{}.attn_v_b.weight"},
}); });
// clang-format on

}  // namespace ckpt::rows
