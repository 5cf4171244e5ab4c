// Hunyuan 3 has Qwen3's attention, a shared MLP next to the routed experts, and layers for
// multi-token prediction. The router chooses experts by sigmoid scores plus a bias.
//
// Sources: llama.cpp conversion/hunyuan.py (HYV3Model), which fills in no defaults of the class;
// transformers models/hy_v3.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kHyV3Experts = spread([] { return std::to_array<ParameterRule>({
    {".mlp.router.gate.weight",     "num_experts hidden_size", kWhole, "sparse"},
    {".mlp.expert_bias",            "num_experts", kWhole, "sparse"},
    {".mlp.shared_mlp.{gate,up}_proj.weight",
     "num_shared_experts*moe_intermediate_size hidden_size", kRows, "sparse"},
    {".mlp.shared_mlp.down_proj.weight", "hidden_size num_shared_experts*moe_intermediate_size",
     kColumns, "sparse"},
    {".final_layernorm.weight",     "hidden_size", kWhole, "nextn"},
}); });
constexpr rows::Rules kHyV3Nextn = std::span(rows::kNextn).first(3);
constexpr auto kHyV3Names = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.mlp.router.gate",          "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.mlp.expert_bias",          "blk.{}.exp_probs_b"},
    {"model.layers.{}.mlp.shared_mlp.{gate,up,down}_proj", "blk.{}.ffn_{gate,up,down}_shexp"},
    {"model.layers.{}.final_layernorm",          "blk.{}.nextn.shared_head_norm"},
}); });
constexpr KeyRule kHyV3Keys[] = {
    {"expert_feed_forward_length",        kU32, "moe_intermediate_size", kNumber},
    {"expert_shared_feed_forward_length", kU32, "moe_intermediate_size*num_shared_experts",
     kNumber},
    {"expert_weights_norm",               kBool, "route_norm"},
    {"expert_weights_scale",              kF32, "router_scaling_factor"},
    {"expert_gating_func",                kU32, "2", kNumber},  // sigmoid
    {"nextn_predict_layers",              kU32, "", kNextnLayers},
};
constexpr ClassDefault kHyV3Defaults[] = {
    {"route_norm", "1", kInKeys}, {"router_scaling_factor", "1", kInKeys},
    {"vocab_size", "120832", kInShapes}, {"hidden_size", "4096", kInShapes},
    {"intermediate_size", "13312", kInShapes}, {"num_hidden_layers", "80", kInShapes},
    {"num_attention_heads", "64", kInShapes}, {"num_key_value_heads", "8", kInShapes},
    {"head_dim", "128", kInShapes}, {"moe_intermediate_size", "1536", kInShapes},
    {"num_experts", "192", kInShapes}, {"num_shared_experts", "1", kInShapes},
    {"first_k_dense_replace", "1", kInShapes}, rows::kAllSparse,
};
// clang-format on

}  // namespace

const Family kHyV3 = {
    .name = "hy_v3",
    .architectures = "HYV3ForCausalLM",
    .model_types = "hy_v3",
    .traits = {.text = {.set = {kListsMlpTypes}}},
    .names = {kHyV3Names, rows::kNextnNames, rows::kExpertNames, rows::kCommonNames},
    .keys = kHyV3Keys,
    .defaults = kHyV3Defaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionNorms, rows::kAttentionBias,
                   rows::kMlp, rows::kExpertProjections, kHyV3Experts, kHyV3Nextn},
    .drafts = {.are_behind = true, .nextn = NextnLayers::kKept},
};

}  // namespace ckpt
