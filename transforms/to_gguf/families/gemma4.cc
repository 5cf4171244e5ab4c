// Gemma 4: layers of two kinds of attention with heads of two sizes, embeddings of every layer, the
// last layers without keys and values of their own.
//
// Source: llama.cpp conversion/gemma.py (Gemma4Model); transformers
// models/gemma4/configuration_gemma4.py. Norms are stored as they are; the gate and up of experts
// stay one tensor; what is said of full attention alone stands in global_head_dim and
// num_global_key_value_heads, or in per_layer_config.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kGemma4Names[] = {
    {"model.embed_tokens_per_layer",      "per_layer_token_embd"},
    {"model.per_layer_model_projection",  "per_layer_model_proj"},
    {"model.per_layer_projection_norm",   "per_layer_proj_norm"},
    {"model.layers.{}.post_attention_layernorm",     "blk.{}.post_attention_norm"},
    {"model.layers.{}.pre_feedforward_layernorm",    "blk.{}.ffn_norm"},
    {"model.layers.{}.pre_feedforward_layernorm_2",  "blk.{}.pre_ffw_norm_2"},
    {"model.layers.{}.post_feedforward_layernorm",   "blk.{}.post_ffw_norm"},
    {"model.layers.{}.post_feedforward_layernorm_1", "blk.{}.post_ffw_norm_1"},
    {"model.layers.{}.post_feedforward_layernorm_2", "blk.{}.post_ffw_norm_2"},
    {"model.layers.{}.layer_scalar",              "blk.{}.layer_output_scale.weight"},
    {"model.layers.{}.per_layer_input_gate",      "blk.{}.inp_gate"},
    {"model.layers.{}.per_layer_projection",      "blk.{}.proj"},
    {"model.layers.{}.post_per_layer_input_norm", "blk.{}.post_norm"},
    {"model.layers.{}.router.proj",               "blk.{}.ffn_gate_inp",
     Change::kNone, Store::kF32},
    {"model.layers.{}.router.scale",              "blk.{}.ffn_gate_inp.scale"},
    {"model.layers.{}.router.per_expert_scale",   "blk.{}.ffn_down_exps.scale"},
    {"model.layers.{}.experts.gate_up_proj",      "blk.{}.ffn_gate_up_exps.weight"},
    {"model.layers.{}.experts.down_proj",         "blk.{}.ffn_down_exps.weight"},
};

constexpr KeyRule kGemma4Keys[] = {
    {"final_logit_softcapping", MetaType::kF32, "final_logit_softcapping",
     KeySource::kFieldUnlessZero},
    {"attention.sliding_window",         MetaType::kU32, "", KeySource::kSlidingWindow},
    {"attention.shared_kv_layers",       MetaType::kU32, "num_kv_shared_layers"},
    {"embedding_length_per_layer_input", MetaType::kU32, "hidden_size_per_layer_input",
     KeySource::kFieldOrZero},
    {"attention.sliding_window_pattern", MetaType::kArray, "", KeySource::kSlidingPattern},
    {"attention.key_length",             MetaType::kU32, "", KeySource::kFullHead},
    {"attention.value_length",           MetaType::kU32, "", KeySource::kFullHead},
    {"attention.key_length_swa",         MetaType::kU32, "head_dim"},
    {"attention.value_length_swa",       MetaType::kU32, "head_dim"},
    {"expert_feed_forward_length",       MetaType::kU32,
     "expert_intermediate_size moe_intermediate_size"},
    {"feed_forward_length",              MetaType::kArray, "", KeySource::kWideFeedForward},
    {"attention.head_count_kv",          MetaType::kArray, "", KeySource::kFullOrSlidingHeads},
    {"rope.dimension_count",             MetaType::kU32, "", KeySource::kFullHead},
    {"rope.dimension_count_swa",         MetaType::kU32, "", KeySource::kSlidingRotary},
};

constexpr FieldDefault kGemma4Defaults[] = {
    {"hidden_size", 2304},       {"intermediate_size", 9216}, {"head_dim", 256},
    {"num_attention_heads", 8},  {"num_key_value_heads", 4},  {"rms_norm_eps", 1e-6},
    {"vocab_size", 262144},      {"max_position_embeddings", 131072},
    {"sliding_window", 512},     {"num_kv_shared_layers", 0},
    {"hidden_size_per_layer_input", 256},
};
// clang-format on

constexpr std::span<const NameRule> kGemma4Mine = kGemma4Names;
const std::span<const NameRule> kGemma4Lists[] = {kGemma4Mine, kCommonNames};

}  // namespace

const Family kGemma4 = {
    .name = "gemma4",
    .architectures = "Gemma4ForCausalLM Gemma4ForConditionalGeneration",
    .model_types = "gemma4_text gemma4",
    .names = kGemma4Lists,
    .keys = kGemma4Keys,
    .defaults = kGemma4Defaults,
    .parameters = &kGemma4Parameters,
    .has_proportional_rope = true,
    .tokenizer = {.byte_fallback = ByteFallback::kAsGemma4,
                  .adds_bos = true,
                  .adds_space_prefix = false},
};

}  // namespace ckpt
