// MiniMax M2: experts in all layers, q and k normed over all heads.
//
// Source: transformers models/minimax_m2/{modeling,configuration}_minimax_m2.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kMiniMaxM2Layer[] = {
    {".self_attn.q_norm.weight", "num_attention_heads*head_dim"},
    {".self_attn.k_norm.weight", "num_key_value_heads*head_dim"},
    {".block_sparse_moe.gate.weight", "num_local_experts hidden_size"},
    {".block_sparse_moe.e_score_correction_bias", "num_local_experts"},
    {".block_sparse_moe.experts.{}.w1.weight", "intermediate_size hidden_size", ServerCut::kRows},
    {".block_sparse_moe.experts.{}.w2.weight", "hidden_size intermediate_size",
     ServerCut::kColumns},
    {".block_sparse_moe.experts.{}.w3.weight", "intermediate_size hidden_size", ServerCut::kRows},
};
constexpr FieldValue kMiniMaxM2Fields[] = {
    {"vocab_size", "200064"},      {"hidden_size", "3072"},
    {"intermediate_size", "1536"}, {"num_hidden_layers", "62"},
    {"num_attention_heads", "48"}, {"num_key_value_heads", "8"},
    {"head_dim", "128"},           {"num_local_experts", "256"},
};
// clang-format on

constexpr std::span<const ParameterRule> kMiniMaxM2Rules[] = {rows::kFrame, rows::kAttention,
                                                              kMiniMaxM2Layer};

}  // namespace

constinit const ParameterTable kMiniMaxM2Parameters{"MiniMaxM2ForCausalLM", "minimax_m2",
                                                    kMiniMaxM2Rules, kMiniMaxM2Fields};

}  // namespace ckpt
