// LFM2: short convolutions between layers of attention; experts from a layer on.
//
// Source: llama.cpp conversion/lfm2.py (LFM2Model, LFM2MoeModel); defaults: transformers
// models/lfm2{,_moe}/configuration_lfm2{,_moe}.py. Without experts, the width of the feed-forward
// layers is computed from the block_* fields (models/lfm2.cc), not said.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kLfm2Names[] = {   // before the common rows: the first match wins
    {"model.embedding_norm",                       "token_embd_norm"},
    {"model.layers.{}.operator_norm",              "blk.{}.attn_norm"},
    {"model.layers.{}.ffn_norm",                   "blk.{}.ffn_norm"},
    {"model.layers.{}.conv.conv",     "blk.{}.shortconv.conv", Change::kSqueeze, Store::kF32},
    {"model.layers.{}.conv.in_proj",               "blk.{}.shortconv.in_proj"},
    {"model.layers.{}.conv.out_proj",              "blk.{}.shortconv.out_proj"},
    {"model.layers.{}.feed_forward.w1",            "blk.{}.ffn_gate"},
    {"model.layers.{}.feed_forward.w2",            "blk.{}.ffn_down"},
    {"model.layers.{}.feed_forward.w3",            "blk.{}.ffn_up"},
    {"model.layers.{}.self_attn.out_proj",         "blk.{}.attn_output"},
    {"model.layers.{}.self_attn.q_layernorm",      "blk.{}.attn_q_norm"},
    {"model.layers.{}.self_attn.k_layernorm",      "blk.{}.attn_k_norm"},
};

constexpr NameRule kLfm2MoeNames[] = {
    {"model.layers.{}.feed_forward.gate",          "blk.{}.ffn_gate_inp", Change::kNone,
     Store::kF32},
    {"model.layers.{}.feed_forward.expert_bias",   "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.feed_forward.experts.{}.w1", "blk.{}.ffn_gate_exps", Change::kExpert},
    {"model.layers.{}.feed_forward.experts.{}.w2", "blk.{}.ffn_down_exps", Change::kExpert},
    {"model.layers.{}.feed_forward.experts.{}.w3", "blk.{}.ffn_up_exps",   Change::kExpert},
};

constexpr KeyRule kLfm2Keys[] = {
    {"attention.head_count_kv", MetaType::kArray, "num_key_value_heads",
     KeySource::kAttentionHeads},
    {"vocab_size",              MetaType::kU32, "vocab_size"},
    {"shortconv.l_cache",       MetaType::kU32, "conv_L_cache"},
    {"attention.layer_norm_rms_epsilon", MetaType::kF32, "norm_eps"},
    {"feed_forward_length",     MetaType::kU32, "feed_forward", KeySource::kNumber},
};

constexpr KeyRule kLfm2MoeKeys[] = {
    {"attention.head_count_kv",    MetaType::kArray, "num_key_value_heads",
     KeySource::kAttentionHeads},
    {"expert_feed_forward_length", MetaType::kU32, "moe_intermediate_size"},
    {"leading_dense_block_count",  MetaType::kU32, "num_dense_layers", KeySource::kNumber},
    {"expert_gating_func",         MetaType::kU32, "2", KeySource::kNumber},  // sigmoid
    {"vocab_size",                 MetaType::kU32, "vocab_size"},
    {"shortconv.l_cache",          MetaType::kU32, "conv_L_cache"},
};

constexpr FieldDefault kLfm2Defaults[] = {
    {"hidden_size", 2560},       {"intermediate_size", 12288, "block_ff_dim"},
    {"intermediate_size", 12288},
    {"num_attention_heads", 32}, {"num_key_value_heads", 8},
    {"norm_eps", 1e-5},          {"rope_theta", 1000000},
    {"vocab_size", 65536},       {"max_position_embeddings", 128000},
    {"conv_L_cache", 3},
};
constexpr FieldDefault kLfm2MoeDefaults[] = {
    {"hidden_size", 2048},       {"intermediate_size", 7168},
    {"num_attention_heads", 32}, {"num_key_value_heads", 8},
    {"norm_eps", 1e-5},          {"rope_theta", 1000000},
    {"vocab_size", 65536},       {"max_position_embeddings", 128000},
    {"conv_L_cache", 3},         {"moe_intermediate_size", 1792},
    {"num_experts", 32},         {"num_experts_per_tok", 4},
};
// clang-format on

constexpr std::span<const NameRule> kLfm2Only = kLfm2Names;
constexpr std::span<const NameRule> kLfm2MoeOnly = kLfm2MoeNames;
const std::span<const NameRule> kLfm2Lists[] = {kLfm2Only, kCommonNames};
const std::span<const NameRule> kLfm2MoeLists[] = {kLfm2Only, kLfm2MoeOnly, kCommonNames};

}  // namespace

const Family kLfm2 = {
    .name = "lfm2",
    .architectures = "Lfm2ForCausalLM LFM2ForCausalLM",
    .model_types = "lfm2",
    .names = kLfm2Lists,
    .keys = kLfm2Keys,
    .defaults = kLfm2Defaults,
    .parameters = &kLfm2Parameters,
};

const Family kLfm2Moe = {
    .name = "lfm2moe",
    .architectures = "Lfm2MoeForCausalLM",
    .model_types = "lfm2_moe",
    .names = kLfm2MoeLists,
    .keys = kLfm2MoeKeys,
    .defaults = kLfm2MoeDefaults,
    .parameters = &kLfm2MoeParameters,
};

}  // namespace ckpt
