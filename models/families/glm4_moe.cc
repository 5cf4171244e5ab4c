// GLM 4.5 and 4.6: experts behind dense layers, with a layer for multi-token prediction.
//
// Sources: llama.cpp conversion/glm.py (Glm4MoeModel); transformers models/glm4_moe. The layer for
// multi-token prediction counts whether or not its tensors are there.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kGlm4MoeNorms = rows::under("use_qk_norm", rows::kAttentionNorms);
constexpr KeyRule kGlm4MoeKeys[] = {
    {"rope.dimension_count",       kU32, "0.5", kPartialRotary},
    {"expert_count",               kU32, "n_routed_experts"},
    {"expert_feed_forward_length", kU32, "moe_intermediate_size"},
    {"expert_shared_count",        kU32, "n_shared_experts"},
    {"leading_dense_block_count",  kU32, "first_k_dense_replace"},
    {"expert_gating_func",         kU32, "2", kNumber},  // sigmoid
    {"expert_weights_scale",       kF32, "routed_scaling_factor"},
    {"expert_weights_norm",        kBool, "norm_topk_prob"},
    {"nextn_predict_layers",       kU32, "num_nextn_predict_layers", kNextnSaid},
};
constexpr ClassDefault kGlm4MoeDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "10944"}, {"num_attention_heads", "96"},
    {"num_key_value_heads", "8"}, {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "151552"},
    {"max_position_embeddings", "131072", kInKeys}, {"moe_intermediate_size", "1408"},
    {"num_experts_per_tok", "8", kInKeys}, {"n_routed_experts", "128"}, {"n_shared_experts", "1"},
    {"n_group", "1", kInKeys}, {"topk_group", "1", kInKeys}, {"first_k_dense_replace", "1"},
    {"routed_scaling_factor", "1", kInKeys}, {"norm_topk_prob", "1", kInKeys},
    {"num_nextn_predict_layers", "1"}, {"num_hidden_layers", "46", kInShapes}, rows::kHeadOfWidth,
    rows::kAllSparse,
};
// clang-format on

}  // namespace

const Family kGlm4Moe = {
    .name = "glm4moe",
    .architectures = "Glm4MoeForCausalLM",
    .model_types = "glm4_moe",
    .quirks =
        "stops_at:n_group=tln stops_at:topk_group=n ignores_layer_types activation:silu"
        " nextn_uncounted never_ties",
    .names = {rows::kNormBehindName, rows::kNextnNames, rows::kRoutedExpertNames,
              rows::kExpertNames, rows::kCommonNames},
    .keys = kGlm4MoeKeys,
    .defaults = kGlm4MoeDefaults,
    .parameters = {rows::kFrame, rows::kAttention, kGlm4MoeNorms, rows::kQkvAttentionBias,
                   rows::kMlp, rows::kRoutedExperts, rows::kNextn},
    .has_nextn = true,
    .nextn = NextnLayers::kKept,
    .tokenizer = kGlmTokenizer,
};

}  // namespace ckpt
