// Llama 4, the text part: experts stored [expert, in, out], and a shared one.
//
// Sources: llama.cpp conversion/llama.py (Llama4Model); transformers models/llama4.
// intermediate_size is that of an expert, intermediate_size_mlp that of dense layers; query and key
// rows are not permuted.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kLlama4Layer = spread([] { return std::to_array<ParameterRule>({
    {".feed_forward.router.weight",    "num_local_experts hidden_size", kWhole, "sparse"},
    {".feed_forward.experts.gate_up_proj", "num_local_experts hidden_size 2*intermediate_size",
     kColumns, "sparse"},
    {".feed_forward.experts.down_proj", "num_local_experts intermediate_size hidden_size", kRows,
     "sparse"},
    {".feed_forward.shared_expert.{gate,up}_proj.weight", "intermediate_size hidden_size", kRows,
     "sparse"},
    {".feed_forward.shared_expert.down_proj.weight", "hidden_size intermediate_size", kColumns,
     "sparse"},
    {".feed_forward.{gate,up}_proj.weight", "intermediate_size_mlp hidden_size", kRows, "dense"},
    {".feed_forward.down_proj.weight", "hidden_size intermediate_size_mlp", kColumns, "dense"},
}); });
constexpr auto kLlama4Names = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.feed_forward.router",            "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.feed_forward.experts.down_proj", "blk.{}.ffn_down_exps.weight", kSwap},
    {"model.layers.{}.feed_forward.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight",
     kSwapHalves, Store::kByRules, "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.feed_forward.shared_expert.{gate,up,down}_proj",
     "blk.{}.ffn_{gate,up,down}_shexp"},
    {"model.layers.{}.feed_forward.{gate,up,down}_proj", "blk.{}.ffn_{gate,up,down}"},
}); });
constexpr KeyRule kLlama4Keys[] = {
    {"feed_forward_length",        kU32, "intermediate_size_mlp", kNumber},
    {"vocab_size",                 kU32, "vocab_size"},
    {"rope.dimension_count",       kU32, "", kRotary},
    {"interleave_moe_layer_step",  kU32, "interleave_moe_layer_step"},
    {"expert_feed_forward_length", kU32, "intermediate_size"},
    {"attention.sliding_window",   kU32, "layer_types", kNoWindow},
};
constexpr ClassDefault kLlama4Defaults[] = {
    {"hidden_size", "5120"}, {"intermediate_size", "8192"}, {"num_attention_heads", "40"},
    rows::key_heads("8"), {"head_dim", "128"}, {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "500000", kInKeys}, {"vocab_size", "202048"}, {"num_local_experts", "16"},
    {"num_experts_per_tok", "1", kInKeys}, {"interleave_moe_layer_step", "1"},
    {"max_position_embeddings", "131072", kInKeys}, {"intermediate_size_mlp", "16384", kInShapes},
    {"num_hidden_layers", "48", kInShapes},
    {"decoder_sparse_step", "interleave_moe_layer_step", kInShapes},
};
// clang-format on

// llama.cpp knows the larger of both models by its experts.
void add_qk_norm(const GraphConfig& made) {
  made.config["use_qk_norm"] = count_in(made.config, "num_local_experts") != 128;
}

}  // namespace

const Family kLlama4 = {
    .name = "llama4",
    .architectures = "Llama4ForConditionalGeneration Llama4ForCausalLM",
    .model_types = "llama4_text llama4",
    .traits = {.text = {.set = {kListsRotatingLayers, kAsksNothingOfRope, kStackedExperts}}},
    .names = {kLlama4Names, rows::kCommonNames},
    .keys = kLlama4Keys,
    .defaults = kLlama4Defaults,
    .rope = {.has_factors = true},
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, kLlama4Layer},
    .graph =
        {.constants = {{"attention_chunk_size", "8192"},
                       {"no_rope_layer_interval", "4"},
                       {"attn_temperature_tuning", "true"},
                       {"floor_scale", "8192"},
                       {"attn_scale", "0.1"}},
         .add_fields = add_qk_norm,
         .absent_fields =
             "attention_chunk_size (8192), no_rope_layers (each fourth), use_qk_norm (but with "
             "128 experts)"},
    .windows = {.period = 4},
};

}  // namespace ckpt
