// Ling 2.0 and Ring 2.0 store queries, keys and values in one matrix. The router first chooses
// groups of experts, then experts within them.
//
// Sources: llama.cpp conversion/bailingmoe.py (BailingMoeV2Model), which fills in no defaults of
// the class; modeling_bailing_moe_v2.py, which is published with the models.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kBailingLayer = spread([] { return std::to_array<ParameterRule>({
    {"model.word_embeddings.weight",     "vocab_size hidden_size"},
    {"model.norm.weight",                "hidden_size"},
    {"lm_head.weight",                   "vocab_size hidden_size", kWhole, "head"},
    {".{input,post_attention}_layernorm.weight", "hidden_size"},
    {".attention.query_key_value.weight",
     "num_attention_heads*head_dim+2*num_key_value_heads*head_dim hidden_size", kRows},
    {".attention.query_key_value.bias",
     "num_attention_heads*head_dim+2*num_key_value_heads*head_dim", kRows, "use_qkv_bias"},
    {".attention.dense.weight",          "hidden_size num_attention_heads*head_dim", kColumns},
    {".attention.{query,key}_layernorm.weight", "head_dim", kWhole, "use_qk_norm"},
    {".mlp.gate.weight",                 "num_experts hidden_size", kWhole, "sparse"},
    {".mlp.gate.expert_bias", "num_experts", kWhole, "sparse moe_router_enable_expert_bias"},
    {".final_layernorm.weight",          "hidden_size", kWhole, "nextn"},
}); });
constexpr rows::Rules kBailingNextn = std::span(rows::kNextn).first(3);
constexpr auto kBailingNames = spread([] { return std::to_array<NameRule>({
    {"model.word_embeddings",                    "token_embd"},
    {"model.layers.{}.attention.{query_key_value,dense,query_layernorm,key_layernorm}",
     "blk.{}.attn_{qkv,output,q_norm,k_norm}"},
    {"model.layers.{}.mlp.gate.expert_bias",     "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.final_layernorm",          "blk.{}.layer_output_norm"},
}); });
constexpr KeyRule kBailingKeys[] = {
    {"rope.dimension_count",              kU32, "0.5", kPartialRotary},
    {"leading_dense_block_count",         kU32, "first_k_dense_replace", kNumber},
    {"vocab_size",                        kU32, "vocab_size"},
    {"expert_feed_forward_length",        kU32, "moe_intermediate_size", kNumber},
    {"expert_shared_feed_forward_length", kU32, "moe_shared_expert_intermediate_size", kNumber},
    {"expert_weights_scale",              kF32, "routed_scaling_factor"},
    {"expert_shared_count",               kU32, "num_shared_experts", kNumber},
    {"expert_weights_norm",               kBool, "norm_topk_prob"},
    {"nextn_predict_layers",              kU32, "num_nextn_predict_layers", kNextnSaid},
};
constexpr auto kBailingDefaults = rows::in_shapes({
    {"vocab_size", "157184"}, {"hidden_size", "2048"}, {"intermediate_size", "5120"},
    {"num_hidden_layers", "20"}, {"num_attention_heads", "16"}, {"num_key_value_heads", "4"},
    {"moe_intermediate_size", "512"}, {"num_shared_experts", "1"}, {"num_experts", "256"},
    {"first_k_dense_replace", "1"}, rows::kHeadOfWidth, {"moe_shared_expert_intermediate_size",
    "moe_intermediate_size*num_shared_experts"}, {"n_shared_experts", "num_shared_experts"},
    {"use_qk_norm", "1"}, {"moe_router_enable_expert_bias", "1"}, rows::kAllSparse,
});
// clang-format on

}  // namespace

const Family kBailingMoe2 = {
    .name = "bailingmoe2",
    .architectures = "BailingMoeV2ForCausalLM",
    .model_types = "bailing_moe_v2 bailing_moe",
    .names = {kBailingNames, rows::kNextnNames, rows::kRoutedExpertNames, rows::kExpertNames,
              rows::kCommonNames},
    .keys = kBailingKeys,
    .keys_around = {.own_spellings = "intermediate_size num_experts score_function"},
    .defaults = kBailingDefaults,
    .parameters = {kBailingLayer, rows::kMlp, rows::kExpertProjections, rows::kSharedExperts,
                   kBailingNextn},
    .drafts = {.are_behind = true, .nextn = NextnLayers::kKept},
};

}  // namespace ckpt
