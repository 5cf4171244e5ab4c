// Arcee Trinity (AFMoE). A gate scales the output of attention. Attention and MLP each have a norm
// before and a norm after them. The router chooses experts by sigmoid scores plus a bias.
//
// Sources: llama.cpp conversion/afmoe.py (AfmoeModel), which fills in no defaults of the class;
// transformers models/afmoe. The GGUF has stacked experts in the order gate, up, down.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kAfmoeLayer = spread([] { return std::to_array<ParameterRule>({
    {".{pre,post}_mlp_layernorm.weight", "hidden_size"},
    {".self_attn.gate_proj.weight", "num_attention_heads*head_dim hidden_size", kRows},
    {".mlp.router.gate.weight",     "num_experts hidden_size", kWhole, "sparse"},
    {".mlp.expert_bias",            "num_experts", kWhole, "sparse"},
}); });
constexpr auto kAfmoeNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.{pre,post}_mlp_layernorm", "blk.{}.{ffn,post_ffw}_norm"},
    {"model.layers.{}.self_attn.gate_proj", "blk.{}.attn_gate"},
    {"model.layers.{}.mlp.router.gate",     "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.mlp.expert_bias",     "blk.{}.exp_probs_b.bias"},
}); });
constexpr KeyRule kAfmoeKeys[] = {
    {"vocab_size",                 kU32, "vocab_size"},
    {"rope.dimension_count",       kU32, "", kRotary},
    {"expert_shared_count",        kU32, "num_shared_experts"},
    {"expert_feed_forward_length", kU32, "moe_intermediate_size"},
    {"leading_dense_block_count",  kU32, "num_dense_layers"},
    {"expert_weights_norm",        kBool, "route_norm"},
    {"expert_weights_scale",       kF32, "route_scale"},
    {"attention.sliding_window",   kU32, "sliding_window"},
};
constexpr auto kAfmoeDefaults = rows::in_shapes({
    {"vocab_size", "200192"}, {"hidden_size", "2048"}, {"intermediate_size", "6144"},
    {"moe_intermediate_size", "1408"}, {"num_hidden_layers", "32"}, {"num_dense_layers", "1"},
    {"num_attention_heads", "16"}, {"num_key_value_heads", "num_attention_heads"},
    {"head_dim", "128"}, {"num_experts", "64"}, {"num_shared_experts", "2"},
    {"n_shared_experts", "num_shared_experts"}, {"first_k_dense_replace", "num_dense_layers"},
    rows::kAllSparse,
});
// clang-format on

}  // namespace

const Family kAfmoe = {
    .name = "afmoe",
    .architectures = "AfmoeForCausalLM",
    .model_types = "afmoe",
    .names = {kAfmoeNames, rows::kNormBehindName, rows::kRoutedExpertNames,
              rows::kGateFirstExpertNames, rows::kExpertNames, rows::kCommonNames},
    .keys = kAfmoeKeys,
    .keys_around = {.own_spellings = "score_func"},
    .defaults = kAfmoeDefaults,
    .rope = {.has_factors = true},
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionNorms, rows::kAttentionBias,
                   kAfmoeLayer, rows::kMlp, rows::kExpertProjections, rows::kSharedExperts},
    .tokenizer = kLlamaTokenizer,
    .windows = {.period = 4},
};

}  // namespace ckpt
