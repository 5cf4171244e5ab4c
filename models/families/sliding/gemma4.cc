// Gemma 4: layers of two kinds of attention with heads of two sizes, embeddings of every layer, the
// last layers without keys and values of their own.
//
// Sources: llama.cpp conversion/gemma.py (Gemma4Model); transformers models/gemma4. Norms are
// stored as they are; the gate and up of experts stay one tensor; fields of full attention are
// global_head_dim and num_global_key_value_heads, or in per_layer_config.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
// Heads have two sizes, and the last layers share keys and values and may have wider MLPs: of
// attention and MLP there are rows for what all layers of a kind have in common.
constexpr ParameterRule kGemma4Rows[] = {
    {".layer_scalar",                          "1"},
};
constexpr auto kSlidingAttention = rows::under("sliding_attention", rows::kAttention);
constexpr auto kSlidingNorms = rows::under("sliding_attention", rows::kAttentionNorms);
constexpr auto kGemma4Names = spread([] { return std::to_array<NameRule>({
    {"model.embed_tokens_per_layer",                 "per_layer_token_embd"},
    {"model.layers.{}.pre_feedforward_layernorm_2",  "blk.{}.pre_ffw_norm_2"},
    {"model.layers.{}.post_feedforward_layernorm_{1,2}", "blk.{}.post_ffw_norm_{1,2}"},
    {"model.layers.{}.layer_scalar",                 "blk.{}.layer_output_scale.weight"},
    {"model.layers.{}.router.proj",                  "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.router.{scale,per_expert_scale}", "blk.{}.ffn_{gate_inp,down_exps}.scale"},
    {"model.layers.{}.experts.{gate_up,down}_proj", "blk.{}.ffn_{gate_up,down}_exps.weight"},
}); });
constexpr auto kGemma4Keys = spread([] { return std::to_array<KeyRule>({
    {"final_logit_softcapping",          kF32, "final_logit_softcapping", kFieldUnlessZero},
    {"attention.sliding_window",         kU32, "", kSlidingWindow},
    {"attention.shared_kv_layers",       kU32, "num_kv_shared_layers"},
    {"embedding_length_per_layer_input", kU32, "hidden_size_per_layer_input", kFieldOrZero},
    {"attention.sliding_window_pattern", kArray, "", kSlidingPattern},
    {"attention.{key,value}_length", kU32, "", kFullHead},
    {"attention.{key,value}_length_swa", kU32, "head_dim"},
    {"expert_feed_forward_length",       kU32, "expert_intermediate_size moe_intermediate_size"},
    {"feed_forward_length",              kArray, "", kWideFeedForward},
    {"attention.head_count_kv",          kArray, "", kFullOrSlidingHeads},
    {"rope.dimension_count",             kU32, "", kFullHead},
    {"rope.dimension_count_swa",         kU32, "", kSlidingRotary},
}); });
constexpr ClassDefault kGemma4Defaults[] = {
    {"hidden_size", "2304"}, {"intermediate_size", "9216"}, {"head_dim", "256"},
    {"num_attention_heads", "8"}, {"num_key_value_heads", "4"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"vocab_size", "262144"}, {"max_position_embeddings", "131072", kInKeys},
    {"sliding_window", "512", kInKeys}, {"num_kv_shared_layers", "0", kInKeys},
    {"hidden_size_per_layer_input", "256"}, {"num_hidden_layers", "30", kInShapes},
    {"vocab_size_per_layer_input", "262144", kInShapes}, {"tie_word_embeddings", "1", kInShapes},
    {.field = "global_head_dim", .value = "512", .read_by = kInKeys, .unless = "per_layer_config"},
};
// clang-format on

}  // namespace

const Family kGemma4 = {
    .name = "gemma4",
    .architectures = "Gemma4ForCausalLM Gemma4ForConditionalGeneration",
    .model_types = "gemma4_text gemma4",
    .activation = kGemmaGelu,
    .traits = {.text = {.set = {kSharesCache, kPerLayerInputs}}},
    .names = {kGemma4Names, rows::kGemmaLayerNames, rows::kCommonNames},
    .keys = kGemma4Keys,
    .keys_around = {.own_spellings = "num_experts top_k_experts moe_intermediate_size"},
    .defaults = kGemma4Defaults,
    .rope = {.by_default = R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                               "rope_theta": 1000000.0}})",
             .is_proportional = true},
    .parameters = {rows::kGemmaLayers, kGemma4Rows, kSlidingAttention, kSlidingNorms},
    .is_partial = true,
    .tokenizer = {.byte_fallback = ByteFallback::kAsGemma4,
                  .adds_bos = true,
                  .adds_space_prefix = false},
    .windows = {.period = 6, .end_in_full = true},
};

}  // namespace ckpt
