// MiniMax M2: all layers have experts, and q and k are normed over all heads.
//
// Source: llama.cpp conversion/minimax.py (MiniMaxM2Model); defaults: transformers
// models/minimax_m2/configuration_minimax_m2.py. Experts are stacked in the order w1, w2, w3, which
// is gate, down, up.
//
// Shapes: transformers models/minimax_m2/{modeling,configuration}_minimax_m2.py.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kMiniMaxM2Layer[] = {
    {".block_sparse_moe.gate.weight", "num_local_experts hidden_size"},
    {".block_sparse_moe.e_score_correction_bias", "num_local_experts"},
    {".block_sparse_moe.experts.{}.w1.weight", "intermediate_size hidden_size", ServerCut::kRows},
    {".block_sparse_moe.experts.{}.w2.weight", "hidden_size intermediate_size",
     ServerCut::kColumns},
    {".block_sparse_moe.experts.{}.w3.weight", "intermediate_size hidden_size", ServerCut::kRows},
};
constexpr NameRule kMiniMaxM2Names[] = {   // before the common rows: the first match wins
    {"model.layers.{}.block_sparse_moe.gate", "blk.{}.ffn_gate_inp", Change::kNone, Store::kF32},
    {"model.layers.{}.block_sparse_moe.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w1", "blk.{}.ffn_gate_exps", Change::kExpert},
    {"model.layers.{}.block_sparse_moe.experts.{}.w2", "blk.{}.ffn_down_exps", Change::kExpert},
    {"model.layers.{}.block_sparse_moe.experts.{}.w3", "blk.{}.ffn_up_exps",   Change::kExpert},
};
constexpr KeyRule kMiniMaxM2Keys[] = {
    {"expert_feed_forward_length", MetaType::kU32, "intermediate_size", KeySource::kNumber},
    {"rope.dimension_count",       MetaType::kU32, "rotary_dim", KeySource::kNumber},
};
constexpr ClassDefault kMiniMaxM2Defaults[] = {
    {"hidden_size", "3072"}, {"intermediate_size", "1536"}, {"num_attention_heads", "48"},
    {"num_key_value_heads", "8"}, {"head_dim", "128"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"rope_theta", "5000000", kInKeys}, {"vocab_size", "200064"}, {"num_local_experts", "256"},
    {"num_experts_per_tok", "8", kInKeys}, {"max_position_embeddings", "196608", kInKeys},
    {"num_hidden_layers", "62", kInShapes},
};
// clang-format on

constexpr std::span<const ParameterRule> kMiniMaxM2Rules[] = {
    rows::kFrame, rows::kAttention, rows::kWideAttentionNorms, kMiniMaxM2Layer};
constexpr std::span<const NameRule> kMiniMaxM2Lists[] = {kMiniMaxM2Names, rows::kCommonNames};

constexpr GraphConstant kMiniMaxM2Constants[] = {
    {"scoring_func", "\"sigmoid\""},
    {"use_routing_bias", "true"},
    {"use_qk_norm", "true"},
    {"qk_norm_type", "\"per_layer\""},
};

}  // namespace

const Family kMiniMaxM2 = {
    .name = "minimax-m2",
    .architectures = "MiniMaxM2ForCausalLM",
    .model_types = "minimax_m2",
    .quirks = "vllm_name:.block_sparse_moe.=.mlp. float_router",
    .names = kMiniMaxM2Lists,
    .keys = kMiniMaxM2Keys,
    .defaults = kMiniMaxM2Defaults,
    .parameters = kMiniMaxM2Rules,
    .graph_constants = kMiniMaxM2Constants,
};

}  // namespace ckpt
