// OLMo, OLMoE, OLMo 2 and 3.
//
// Source: llama.cpp conversion/olmo.py (OlmoModel, OlmoeModel, Olmo2Model); defaults: transformers
// models/olmo{,e,2,3}/configuration_*.py. OLMo's norms have no weights, and rows of q and k become
// pairs, their biases not; both it and OLMoE have one epsilon, whatever config.json says. OLMo 2
// and 3 are one architecture in GGUF, OLMo 3 adds windows; both norms of a layer stand behind what
// they are named after, so nothing becomes ffn_norm.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kOlmoNames[] = {   // before the common rows: the first match wins
    {"model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight", Change::kRopeQuery},
    {"model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight", Change::kRopeKey},
};

constexpr KeyRule kOlmoKeys[] = {
    {"attention.layer_norm_epsilon", MetaType::kF32, "1e-5", KeySource::kConstant},
    {"attention.clamp_kqv",          MetaType::kF32, "clip_qkv"},
};
constexpr KeyRule kOlmoeKeys[] = {
    {"attention.layer_norm_rms_epsilon", MetaType::kF32, "1e-5", KeySource::kConstant},
};

constexpr FieldDefault kOlmoDefaults[] = {
    {"hidden_size", 4096},       {"intermediate_size", 11008},
    {"num_attention_heads", 32}, {"num_key_value_heads", 0, "num_attention_heads"},
    {"rope_theta", 10000},       {"vocab_size", 50304},
    {"max_position_embeddings", 2048},
};
constexpr FieldDefault kOlmoeDefaults[] = {
    {"hidden_size", 2048},       {"intermediate_size", 2048},
    {"num_attention_heads", 16}, {"num_key_value_heads", 0, "num_attention_heads"},
    {"rms_norm_eps", 1e-5},      {"rope_theta", 10000},
    {"vocab_size", 50304},       {"max_position_embeddings", 4096},
    {"num_experts", 64},         {"num_experts_per_tok", 8},
};

constexpr NameRule kOlmo2Names[] = {   // before the common rows: the first match wins
    {"model.layers.{}.post_attention_layernorm",   "blk.{}.post_attention_norm"},
    {"model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"},
};

constexpr KeyRule kOlmo2Keys[] = {
    {"attention.sliding_window",         MetaType::kU32, "sliding_window"},
    {"attention.sliding_window_pattern", MetaType::kArray, "sliding_window",
     KeySource::kSlidingLayers},
};

constexpr FieldDefault kOlmo2Defaults[] = {
    {"hidden_size", 4096},       {"intermediate_size", 11008},
    {"num_attention_heads", 32}, {"num_key_value_heads", 0, "num_attention_heads"},
    {"rms_norm_eps", 1e-5},      {"rope_theta", 10000},
    {"vocab_size", 50304},       {"max_position_embeddings", 2048},
};

constexpr FieldDefault kOlmo3Defaults[] = {
    {"hidden_size", 4096},       {"intermediate_size", 11008},
    {"num_attention_heads", 32}, {"num_key_value_heads", 0, "num_attention_heads"},
    {"rms_norm_eps", 1e-5},      {"rope_theta", 10000},
    {"vocab_size", 50304},       {"max_position_embeddings", 2048},
    {"sliding_window", 4096},
};
// clang-format on

constexpr std::span<const NameRule> kOlmo2Only = kOlmo2Names;
const std::span<const NameRule> kOlmo2Lists[] = {kOlmo2Only, kCommonNames};

constexpr std::span<const NameRule> kOlmoOnly = kOlmoNames;
const std::span<const NameRule> kOlmoLists[] = {kOlmoOnly, kCommonNames};
const std::span<const NameRule> kOlmoeLists[] = {kExpertNames, kCommonNames};

}  // namespace

const Family kOlmo = {
    .name = "olmo",
    .architectures = "OlmoForCausalLM",
    .model_types = "olmo",
    .names = kOlmoLists,
    .keys = kOlmoKeys,
    .defaults = kOlmoDefaults,
    .parameters = &kOlmoParameters,
};

const Family kOlmoe = {
    .name = "olmoe",
    .architectures = "OlmoeForCausalLM",
    .model_types = "olmoe",
    .names = kOlmoeLists,
    .keys = kOlmoeKeys,
    .defaults = kOlmoeDefaults,
    .parameters = &kOlmoeParameters,
};

const Family kOlmo2 = {
    .name = "olmo2",
    .architectures = "Olmo2ForCausalLM",
    .model_types = "olmo2",
    .names = kOlmo2Lists,
    .keys = kOlmo2Keys,
    .defaults = kOlmo2Defaults,
    .parameters = &kOlmo2Parameters,
};

const Family kOlmo3 = {
    .name = "olmo2",
    .architectures = "Olmo3ForCausalLM",
    .model_types = "olmo3",
    .names = kOlmo2Lists,
    .keys = kOlmo2Keys,
    .defaults = kOlmo3Defaults,
    .parameters = &kOlmo3Parameters,
};

}  // namespace ckpt
