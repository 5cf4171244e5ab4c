// MiniMax M2: all layers have experts, and q and k are normed over all heads.
//
// Sources: llama.cpp conversion/minimax.py (MiniMaxM2Model); transformers models/minimax_m2.
// Experts are stacked in the order w1, w2, w3, which is gate, down, up.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kMiniMaxM2Router[] = {
    {".block_sparse_moe.e_score_correction_bias", "num_local_experts"},
};
constexpr NameRule kMiniMaxM2Names[] = {
    {"model.layers.{}.block_sparse_moe.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
};
constexpr KeyRule kMiniMaxM2Keys[] = {
    {"expert_feed_forward_length", kU32, "intermediate_size", kNumber},
    {"rope.dimension_count",       kU32, "rotary_dim", kNumber},
};
constexpr ClassDefault kMiniMaxM2Defaults[] = {
    {"hidden_size", "3072"}, {"intermediate_size", "1536"}, {"num_attention_heads", "48"},
    {"num_key_value_heads", "8"}, {"head_dim", "128"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"rope_theta", "5000000", kInKeys}, {"vocab_size", "200064"}, {"num_local_experts", "256"},
    {"num_experts_per_tok", "8", kInKeys}, {"max_position_embeddings", "196608", kInKeys},
    {"num_hidden_layers", "62", kInShapes},
};
// clang-format on

}  // namespace

const Family kMiniMaxM2 = {
    .name = "minimax-m2",
    .architectures = "MiniMaxM2ForCausalLM",
    .model_types = "minimax_m2",
    .quirks = "vllm_name:.block_sparse_moe.=.mlp. float_router",
    .names = {kMiniMaxM2Names, rows::kSparseMoeNames, rows::kCommonNames},
    .keys = kMiniMaxM2Keys,
    .defaults = kMiniMaxM2Defaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kWideAttentionNorms,
                   std::span(rows::kSparseMoe).first(1),  // the router
                   kMiniMaxM2Router, std::span(rows::kSparseMoe).subspan(1)},
    .graph_constants = {{"scoring_func", "\"sigmoid\""},
                        {"use_routing_bias", "true"},
                        {"use_qk_norm", "true"},
                        {"qk_norm_type", "\"per_layer\""}},
};

}  // namespace ckpt
