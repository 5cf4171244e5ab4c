// Qwen3-Next: Qwen3.5's layers with experts, query, key, value and gate in one projection.
//
// Sources: llama.cpp conversion/qwen.py (Qwen3NextModel); transformers models/qwen3_next. Value
// heads stay grouped by key head here; the layers for multi-token prediction are counted by their
// tensors.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kQwen3NextLinear = rows::under("linear_attention", {
    {".linear_attn.in_proj_qkvz.weight",
     "2*linear_num_key_heads*linear_key_head_dim+2*linear_num_value_heads*linear_value_head_dim"
     " hidden_size", kRows},
    {".linear_attn.in_proj_ba.weight", "2*linear_num_value_heads hidden_size", kRows},
});
constexpr NameRule kQwen3NextNames[] = {   // before the common rows: the first match wins
    {"model.layers.{}.linear_attn.in_proj_qkvz.weight", "blk.{}.attn_qkv.weight", kQkvz,
     Store::kByRules, "blk.{}.attn_gate.weight"},
    {"model.layers.{}.linear_attn.in_proj_ba", "blk.{}.ssm_ba"},
    {"model.layers.{}.linear_attn.conv1d",     "blk.{}.ssm_conv1d", kSqueeze, Store::kF32},
    {"model.layers.{}.linear_attn.A_log",      "blk.{}.ssm_a", kNegExp, Store::kF32},
    {"model.layers.{}.linear_attn.dt_bias",    "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.linear_attn.norm",       "blk.{}.ssm_norm"},
    {"model.layers.{}.linear_attn.out_proj",   "blk.{}.ssm_out"},
};
constexpr ClassDefault kQwen3NextDefaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "5632"}, {"num_attention_heads", "16"},
    {"num_key_value_heads", "2"}, {"head_dim", "256"},
    {"max_position_embeddings", "32768", kInKeys}, {"rms_norm_eps", "1e-6", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"linear_conv_kernel_dim", "4"},
    {"linear_key_head_dim", "128"}, {"linear_value_head_dim", "128"},
    {"linear_num_key_heads", "16"}, {"linear_num_value_heads", "32"}, {"vocab_size", "151936"},
    {"moe_intermediate_size", "512"}, {"shared_expert_intermediate_size", "512"},
    {"num_experts", "512"}, {"num_experts_per_tok", "10", kInKeys},
    {"num_hidden_layers", "48", kInShapes}, {"full_attention_interval", "4", kInShapes},
    rows::kAllSparse,
};
// clang-format on

}  // namespace

const Family kQwen3Next = {
    .name = "qwen3next",
    .architectures = "Qwen3NextForCausalLM",
    .model_types = "qwen3_next",
    .quirks =
        "takes_longer_layer_types only_silu own_config:Qwen3Next needs_rope_type"
        " refuses_nothing never_ties norms_feed_linears",
    .names = {rows::kAddedOneNames, kQwen3NextNames, rows::kNextnNames, rows::kExpertNames,
              rows::kCommonNames},
    .keys = rows::kDeltaKeys,
    .defaults = kQwen3NextDefaults,
    .parameters = {rows::kFrame, rows::kGatedQuery, rows::kUngated, rows::kFullAttentionNorms,
                   kQwen3NextLinear, rows::kLinearAttention, rows::kMlp, rows::kExperts,
                   rows::kSharedExpert},
    .has_mtp = true,
    .graph_constants = rows::kExpertConstants,
};

}  // namespace ckpt
