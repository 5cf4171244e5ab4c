// K-EXAONE: EXAONE 4's attention, but with norms before each part of a layer, and routed experts
// with a shared one.
//
// Sources: llama.cpp conversion/exaone.py (ExaoneMoEModel), which fills in no defaults of the
// class; transformers models/exaone_moe.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kExaoneMoeNames[] = {
    {"model.layers.{}.mlp.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
};
constexpr ParameterRule kExaoneMoeRouter[] = {
    {".mlp.gate.weight",             "num_experts hidden_size", kWhole, "sparse"},
    {".mlp.e_score_correction_bias", "num_experts", kWhole, "sparse"},
};
constexpr KeyRule kExaoneMoeKeys[] = {
    {"vocab_size",                        kU32, "vocab_size"},
    {"attention.sliding_window",          kU32, "sliding_window"},
    {"attention.sliding_window_pattern",  kArray, "sliding_window", kSlidingLayers},
    {"expert_feed_forward_length",        kU32, "moe_intermediate_size", kNumber},
    {"expert_shared_count",               kU32, "num_shared_experts", kNumber},
    {"expert_shared_feed_forward_length", kU32, "moe_intermediate_size*num_shared_experts",
     kNumber},
    {"expert_weights_scale",              kF32, "routed_scaling_factor"},
    {"expert_weights_norm",               kBool, "norm_topk_prob"},
    {"leading_dense_block_count", kU32, "first_k_dense_replace first_last_k_dense_replace",
     kFieldOrZero},
    {"nextn_predict_layers",              kU32, "num_nextn_predict_layers", kFieldOrZero},
    {"rope.scaling.type",                 kText, "none", kConstant},
};
constexpr auto kExaoneMoeDefaults = rows::in_shapes({
    {"vocab_size", "102400"}, {"hidden_size", "4096"}, {"intermediate_size", "16384"},
    {"num_hidden_layers", "32"}, {"num_attention_heads", "32"}, {"num_key_value_heads", "32"},
    rows::kHeadOfWidth, {"moe_intermediate_size", "1024"}, {"num_experts", "64"},
    {"num_shared_experts", "1"}, {"n_shared_experts", "num_shared_experts"},
    {"first_k_dense_replace", "1"}, rows::kAllSparse,
});
// clang-format on

}  // namespace

const Family kExaoneMoe = {
    .name = "exaone-moe",
    .architectures = "ExaoneMoeForCausalLM ExaoneMoEForCausalLM",
    .model_types = "exaone_moe",
    .traits = {.text = {.set = {kListsMlpTypes}}},
    .names = {kExaoneMoeNames, rows::kNextnNames, rows::kRoutedExpertNames, rows::kExpertNames,
              rows::kCommonNames},
    .keys = kExaoneMoeKeys,
    .keys_around = {.own_spellings = "num_experts scoring_func"},
    .defaults = kExaoneMoeDefaults,
    .rope = {.has_factors = true},
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionNorms, rows::kMlp,
                   kExaoneMoeRouter, rows::kExpertProjections, rows::kSharedExperts},
    .drafts = {.are_outside = true},
};

}  // namespace ckpt
