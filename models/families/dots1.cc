// dots.llm1: Qwen3's attention with routed experts as in DeepSeek-V3.
//
// Sources: llama.cpp conversion/dots1.py (Dots1Model); transformers models/dots1.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr KeyRule kDots1Keys[] = {
    {"expert_feed_forward_length", kU32, "moe_intermediate_size"},
    {"leading_dense_block_count",  kU32, "first_k_dense_replace"},
    {"expert_shared_count",        kU32, "n_shared_experts"},
    {"expert_weights_scale",       kF32, "routed_scaling_factor"},
    {"expert_weights_norm",        kBool, "norm_topk_prob"},
};
constexpr ClassDefault kDots1Defaults[] = {
    {"hidden_size", "4608"}, {"intermediate_size", "10944"}, {"num_attention_heads", "32"},
    rows::key_heads("32"), {"rms_norm_eps", "1e-6", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "152064"}, {"max_position_embeddings", "2048", kInKeys},
    {"moe_intermediate_size", "1408"}, {"first_k_dense_replace", "0"},
    {"n_group", "1", kInKeys}, {"topk_group", "1", kInKeys}, {"norm_topk_prob", "0", kInKeys},
    {"routed_scaling_factor", "1", kInKeys}, {"num_hidden_layers", "62", kInShapes},
    rows::kHeadOfWidth, rows::kAllSparse, {"n_routed_experts", "num_experts", kInShapes},
};
// clang-format on

}  // namespace

const Family kDots1 = {
    .name = "dots1",
    .architectures = "Dots1ForCausalLM",
    .model_types = "dots1",
    .names = {rows::kRoutedExpertNames, rows::kExpertNames, rows::kCommonNames},
    .keys = kDots1Keys,
    .keys_around = {.own_spellings = "n_routed_experts scoring_func"},
    .defaults = kDots1Defaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionNorms, rows::kAttentionBias,
                   rows::kMlp, rows::kRoutedExperts},
};

}  // namespace ckpt
