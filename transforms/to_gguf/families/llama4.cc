// Llama 4, the text part: experts stored [expert, in, out], and a shared one beside them.
//
// Source: llama.cpp conversion/llama.py (Llama4Model); defaults: transformers
// models/llama4/configuration_llama4.py. intermediate_size is that of an expert,
// intermediate_size_mlp that of dense layers; query and key rows are not permuted.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kLlama4Names[] = {   // before the common rows: the first match wins
    {"model.layers.{}.feed_forward.router", "blk.{}.ffn_gate_inp", Change::kNone, Store::kF32},
    {"model.layers.{}.feed_forward.experts.down_proj", "blk.{}.ffn_down_exps.weight",
     Change::kSwap},
    {"model.layers.{}.feed_forward.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight",
     Change::kSwapHalves, Store::kByRules,                "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.feed_forward.shared_expert.gate_proj", "blk.{}.ffn_gate_shexp"},
    {"model.layers.{}.feed_forward.shared_expert.up_proj",   "blk.{}.ffn_up_shexp"},
    {"model.layers.{}.feed_forward.shared_expert.down_proj", "blk.{}.ffn_down_shexp"},
    {"model.layers.{}.feed_forward.gate_proj",               "blk.{}.ffn_gate"},
    {"model.layers.{}.feed_forward.up_proj",                 "blk.{}.ffn_up"},
    {"model.layers.{}.feed_forward.down_proj",               "blk.{}.ffn_down"},
};

constexpr KeyRule kLlama4Keys[] = {
    {"feed_forward_length",        MetaType::kU32, "intermediate_size_mlp", KeySource::kNumber},
    {"vocab_size",                 MetaType::kU32, "vocab_size"},
    {"rope.dimension_count",       MetaType::kU32, "", KeySource::kRotary},
    {"interleave_moe_layer_step",  MetaType::kU32, "interleave_moe_layer_step"},
    {"expert_feed_forward_length", MetaType::kU32, "intermediate_size"},
    {"attention.sliding_window",   MetaType::kU32, "layer_types", KeySource::kNoWindow},
};

constexpr FieldDefault kLlama4Defaults[] = {
    {"hidden_size", 5120},        {"intermediate_size", 8192},
    {"num_attention_heads", 40},  {"num_key_value_heads", 8, "", "", "num_attention_heads"},
    {"head_dim", 128},            {"rms_norm_eps", 1e-5},
    {"rope_theta", 500000},       {"vocab_size", 202048},
    {"num_local_experts", 16},    {"num_experts_per_tok", 1},
    {"interleave_moe_layer_step", 1}, {"max_position_embeddings", 131072},
};
// clang-format on

constexpr std::span<const NameRule> kLlama4Only = kLlama4Names;
const std::span<const NameRule> kLlama4Lists[] = {kLlama4Only, kCommonNames};

}  // namespace

const Family kLlama4 = {
    .name = "llama4",
    .architectures = "Llama4ForConditionalGeneration Llama4ForCausalLM",
    .model_types = "llama4 llama4_text",
    .names = kLlama4Lists,
    .keys = kLlama4Keys,
    .defaults = kLlama4Defaults,
    .parameters = &kLlama4Parameters,
    .has_rope_factors = true,
};

}  // namespace ckpt
