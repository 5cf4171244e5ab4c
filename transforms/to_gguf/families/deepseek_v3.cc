// DeepSeek-V2 and V3, GLM-4.7-Flash, and GLM-5 with its sparse attention: keys and values come from
// a short latent (MLA).
//
//   kv_b_proj, rows of a head:  keys [nope] | values [v]      a row is one latent
//   k_b {heads, latent, nope}, v_b {heads, v, latent}
//
// Source: llama.cpp conversion/deepseek.py (DeepseekV2Model), glm.py (Glm4MoeLiteModel,
// GlmMoeDsaModel); defaults: transformers
// models/{deepseek_v2,deepseek_v3,glm4_moe_lite,glm_moe_dsa}/configuration_*.py. The file says one
// key-value head and its size in the latent; DeepSeek's layer for multi-token prediction is left
// out, GLM's is kept.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kMlaNames[] = {   // before the common rows: the first match wins
    {"model.layers.{}.self_attn.q_a_proj",          "blk.{}.attn_q_a"},
    {"model.layers.{}.self_attn.q_b_proj",          "blk.{}.attn_q_b"},
    {"model.layers.{}.self_attn.q_a_layernorm",     "blk.{}.attn_q_a_norm"},
    {"model.layers.{}.self_attn.kv_a_proj_with_mqa", "blk.{}.attn_kv_a_mqa"},
    {"model.layers.{}.self_attn.kv_a_layernorm",    "blk.{}.attn_kv_a_norm"},
    {"model.layers.{}.self_attn.kv_b_proj.weight",  "blk.{}.attn_k_b.weight", Change::kKeyValue,
     Store::kByRules,                               "blk.{}.attn_v_b.weight"},
    {"model.layers.{}.self_attn.indexer.k_norm",    "blk.{}.indexer.k_norm"},
    {"model.layers.{}.self_attn.indexer.weights_proj", "blk.{}.indexer.proj", Change::kNone,
     Store::kF32},
    {"model.layers.{}.self_attn.indexer.wk",        "blk.{}.indexer.attn_k"},
    {"model.layers.{}.self_attn.indexer.wq_b",      "blk.{}.indexer.attn_q_b"},
};

constexpr KeyRule kDeepseekV3Keys[] = {
    {"attention.head_count_kv",   MetaType::kU32, "1", KeySource::kNumber},
    {"leading_dense_block_count", MetaType::kU32, "first_k_dense_replace", KeySource::kNumber},
    {"vocab_size",                MetaType::kU32, "vocab_size"},
    {"attention.q_lora_rank",     MetaType::kU32, "q_lora_rank"},
    {"attention.kv_lora_rank",    MetaType::kU32, "kv_lora_rank", KeySource::kNumber},
    {"attention.key_length",      MetaType::kU32, "kv_lora_rank+qk_rope_head_dim",
     KeySource::kNumber},
    {"attention.value_length",    MetaType::kU32, "kv_lora_rank", KeySource::kNumber},
    {"attention.key_length_mla",  MetaType::kU32, "qk_nope_head_dim+qk_rope_head_dim",
     KeySource::kNumber},
    {"attention.value_length_mla", MetaType::kU32, "v_head_dim", KeySource::kNumber},
    {"expert_feed_forward_length", MetaType::kU32, "moe_intermediate_size intermediate_size"},
    {"expert_count",              MetaType::kU32, "n_routed_experts"},
    {"expert_shared_count",       MetaType::kU32, "n_shared_experts"},
    {"expert_weights_scale",      MetaType::kF32, "routed_scaling_factor"},
    {"expert_weights_norm",       MetaType::kBool, "norm_topk_prob", KeySource::kFieldIfTrue},
    {"rope.dimension_count",      MetaType::kU32, "qk_rope_head_dim", KeySource::kNumber},
    {"rope.scaling.yarn_log_multiplier", MetaType::kF32, "mscale_all_dim", KeySource::kRopeTenth},
};

constexpr KeyRule kGlmMoeDsaKeys[] = {
    {"rope.dimension_count",        MetaType::kU32, "qk_rope_head_dim", KeySource::kPartialRotary},
    {"nextn_predict_layers",        MetaType::kU32, "num_nextn_predict_layers",
     KeySource::kNextnSaid},
    {"attention.indexer.head_count", MetaType::kU32, "index_n_heads", KeySource::kNumber},
    {"attention.indexer.key_length", MetaType::kU32, "index_head_dim", KeySource::kNumber},
    {"attention.indexer.top_k",     MetaType::kU32, "index_topk", KeySource::kNumber},
    {"attention.indexer.types",     MetaType::kArray, "indexer_types", KeySource::kFullLayers},
};

constexpr KeyRule kGlm4MoeLiteKeys[] = {
    {"nextn_predict_layers", MetaType::kU32, "", KeySource::kNextnLayers},
};

constexpr FieldDefault kDeepseekV3Defaults[] = {
    {"hidden_size", 7168},         {"intermediate_size", 18432},
    {"num_attention_heads", 128},  {"num_key_value_heads", 128, "", "", "num_attention_heads"},
    {"qk_rope_head_dim", 64},      {"head_dim", 0, "qk_rope_head_dim", "head_dim"},
    {"rms_norm_eps", 1e-6},        {"rope_theta", 10000},
    {"vocab_size", 129280},        {"max_position_embeddings", 4096},
    {"q_lora_rank", 1536, "", "q_lora_rank"}, {"moe_intermediate_size", 2048},
    {"n_routed_experts", 256},     {"n_shared_experts", 1},
    {"num_experts_per_tok", 8},    {"routed_scaling_factor", 2.5},
    {"n_group", 8, "", "n_group"}, {"topk_group", 4, "", "topk_group"},
    {"norm_topk_prob", 1, "", "norm_topk_prob"},
};

constexpr FieldDefault kDeepseekV2Defaults[] = {
    {"hidden_size", 4096},         {"intermediate_size", 11008},
    {"num_attention_heads", 32},   {"num_key_value_heads", 0, "num_attention_heads"},
    {"qk_rope_head_dim", 64},      {"head_dim", 0, "qk_rope_head_dim"},
    {"rms_norm_eps", 1e-6},        {"rope_theta", 10000},
    {"vocab_size", 32000},         {"max_position_embeddings", 2048},
    {"q_lora_rank", 1536, "", "q_lora_rank"}, {"moe_intermediate_size", 1407},
    {"n_routed_experts", 64},      {"n_shared_experts", 2},
    {"routed_scaling_factor", 1},  {"norm_topk_prob", 0},
};

constexpr FieldDefault kGlm4MoeLiteDefaults[] = {
    {"hidden_size", 2048},         {"intermediate_size", 10240},
    {"num_attention_heads", 20},   {"num_key_value_heads", 20},
    {"qk_rope_head_dim", 64},      {"rope_theta", 10000},
    {"rms_norm_eps", 1e-5},
    {"vocab_size", 154880},        {"max_position_embeddings", 202752},
    {"q_lora_rank", 768, "", "q_lora_rank"}, {"moe_intermediate_size", 1536},
    {"n_routed_experts", 64},      {"n_shared_experts", 1},
    {"num_experts_per_tok", 4},    {"routed_scaling_factor", 1.8},
    {"n_group", 1},                {"topk_group", 1},
    {"norm_topk_prob", 1},
};

constexpr FieldDefault kGlmMoeDsaDefaults[] = {
    {"hidden_size", 6144},         {"intermediate_size", 12288},
    {"num_attention_heads", 64},   {"num_key_value_heads", 64},
    {"qk_rope_head_dim", 64},      {"head_dim", 0, "qk_rope_head_dim", "head_dim"},
    {"rms_norm_eps", 1e-5},        {"rope_theta", 10000},
    {"vocab_size", 154880},        {"max_position_embeddings", 202752},
    {"q_lora_rank", 2048, "", "q_lora_rank"}, {"moe_intermediate_size", 2048},
    {"n_routed_experts", 256},     {"n_shared_experts", 1},
    {"num_experts_per_tok", 8},    {"routed_scaling_factor", 2.5},
    {"n_group", 1},                {"topk_group", 1},
    {"norm_topk_prob", 1},
};
// clang-format on

constexpr std::span<const NameRule> kMlaOnly = kMlaNames;
const std::span<const NameRule> kMlaLists[] = {kMlaOnly, kNextnNames, kRoutedExpertNames,
                                               kExpertNames, kCommonNames};

}  // namespace

const Family kDeepseekV3 = {
    .name = "deepseek2",
    .architectures = "DeepseekV3ForCausalLM",
    .model_types = "deepseek_v3",
    .names = kMlaLists,
    .keys = kDeepseekV3Keys,
    .defaults = kDeepseekV3Defaults,
    .parameters = &kDeepseekV3Parameters,
    .bare_types = "kimi_k2",
    .nextn = NextnLayers::kLeftOut,
    .drops_tied_head = true,
    .tokenizer = {.ranks = "kimi-k2"},
};

const Family kDeepseekV2 = {
    .name = "deepseek2",
    .architectures = "DeepseekV2ForCausalLM",
    .model_types = "deepseek_v2",
    .names = kMlaLists,
    .keys = kDeepseekV3Keys,
    .defaults = kDeepseekV2Defaults,
    .parameters = &kDeepseekV2Parameters,
    .nextn = NextnLayers::kLeftOut,
    .drops_tied_head = true,
};

const Family kGlm4MoeLite = {
    .name = "deepseek2",
    .architectures = "Glm4MoeLiteForCausalLM",
    .model_types = "glm4_moe_lite",
    .names = kMlaLists,
    .keys = kDeepseekV3Keys,
    .defaults = kGlm4MoeLiteDefaults,
    .parameters = &kGlm4MoeLiteParameters,
    .more_keys = kGlm4MoeLiteKeys,
    .nextn = NextnLayers::kKept,
    .drops_tied_head = true,
    .tokenizer = kGlmTokenizer,
};

const Family kGlmMoeDsa = {
    .name = "glm-dsa",
    .architectures = "GlmMoeDsaForCausalLM",
    .model_types = "glm_moe_dsa",
    .names = kMlaLists,
    .keys = kDeepseekV3Keys,
    .defaults = kGlmMoeDsaDefaults,
    .parameters = &kGlmMoeDsaParameters,
    .more_keys = kGlmMoeDsaKeys,
    .nextn = NextnLayers::kKept,
    .drops_tied_head = true,
    .tokenizer = kGlmTokenizer,
};

}  // namespace ckpt
