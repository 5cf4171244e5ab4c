// Qwen2 and Qwen3, dense and mixture of experts: the common rows, and nothing changes a value.
//
// Source: llama.cpp conversion/qwen.py (Qwen2Model, Qwen2MoeModel, Qwen3Model, Qwen3MoeModel);
// defaults: transformers models/qwen{2,3}*/configuration_*.py. Qwen2 has no head_dim, so its files
// have no attention.key_length; embedding models name their tensors without "model.".
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
// As sentence-transformers and Qwen3Model save them.
constexpr NameRule kBareNames[] = {
    {"embed_tokens",                       "token_embd"},
    {"norm",                               "output_norm"},
    {"layers.{}.input_layernorm",          "blk.{}.attn_norm"},
    {"layers.{}.post_attention_layernorm", "blk.{}.ffn_norm"},
    {"layers.{}.self_attn.q_proj",         "blk.{}.attn_q"},
    {"layers.{}.self_attn.k_proj",         "blk.{}.attn_k"},
    {"layers.{}.self_attn.v_proj",         "blk.{}.attn_v"},
    {"layers.{}.self_attn.o_proj",         "blk.{}.attn_output"},
    {"layers.{}.self_attn.q_norm",         "blk.{}.attn_q_norm"},
    {"layers.{}.self_attn.k_norm",         "blk.{}.attn_k_norm"},
    {"layers.{}.mlp.gate_proj",            "blk.{}.ffn_gate"},
    {"layers.{}.mlp.up_proj",              "blk.{}.ffn_up"},
    {"layers.{}.mlp.down_proj",            "blk.{}.ffn_down"},
};

constexpr KeyRule kPoolingKeys[] = {
    {"pooling_type", MetaType::kU32, "", KeySource::kPooling},
};

constexpr KeyRule kExpertKeys[] = {
    {"expert_feed_forward_length",        MetaType::kU32, "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", MetaType::kU32, "shared_expert_intermediate_size"},
};

constexpr FieldDefault kQwen2Defaults[] = {
    {"hidden_size", 4096},         {"intermediate_size", 22016},
    {"num_attention_heads", 32},   {"num_key_value_heads", 32, "", "", "num_attention_heads"},
    {"rms_norm_eps", 1e-6},        {"rope_theta", 10000},
    {"vocab_size", 151936},        {"max_position_embeddings", 32768},
};

constexpr FieldDefault kQwen3Defaults[] = {
    {"hidden_size", 4096},         {"intermediate_size", 22016},
    {"num_attention_heads", 32},   {"num_key_value_heads", 32, "", "", "num_attention_heads"},
    {"rms_norm_eps", 1e-6},        {"rope_theta", 10000},
    {"vocab_size", 151936},        {"max_position_embeddings", 32768},
    {"head_dim", 128},
};

constexpr FieldDefault kQwen2MoeDefaults[] = {
    {"hidden_size", 2048},         {"intermediate_size", 5632},
    {"num_attention_heads", 16},   {"num_key_value_heads", 16},
    {"rms_norm_eps", 1e-6},        {"rope_theta", 10000},
    {"vocab_size", 151936},        {"max_position_embeddings", 32768},
    {"moe_intermediate_size", 1408},
    {"shared_expert_intermediate_size", 5632},
    {"num_experts_per_tok", 4},    {"num_experts", 60},
};

constexpr FieldDefault kQwen3MoeDefaults[] = {
    {"hidden_size", 2048},         {"intermediate_size", 6144},
    {"num_attention_heads", 32},   {"num_key_value_heads", 4},
    {"rms_norm_eps", 1e-6},        {"rope_theta", 10000},
    {"vocab_size", 151936},        {"max_position_embeddings", 32768},
    {"moe_intermediate_size", 768},
    {"num_experts_per_tok", 8},    {"num_experts", 128},
};
// clang-format on

constexpr std::span<const NameRule> kBare = kBareNames;
const std::span<const NameRule> kDenseLists[] = {kCommonNames, kBare};
const std::span<const NameRule> kMoeLists[] = {kExpertNames, kCommonNames};

}  // namespace

const Family kQwen2 = {
    .name = "qwen2",
    .architectures = "Qwen2ForCausalLM Qwen2Model",
    .model_types = "qwen2",
    .names = kDenseLists,
    .keys = kPoolingKeys,
    .defaults = kQwen2Defaults,
    .parameters = &kQwen2Parameters,
    .tokenizer = {.piece_file = PieceFile::kPreferred},
};

const Family kQwen2Moe = {
    .name = "qwen2moe",
    .architectures = "Qwen2MoeForCausalLM",
    .model_types = "qwen2_moe",
    .names = kMoeLists,
    .keys = kExpertKeys,
    .defaults = kQwen2MoeDefaults,
    .parameters = &kQwen2MoeParameters,
};

const Family kQwen3 = {
    .name = "qwen3",
    .architectures = "Qwen3ForCausalLM Qwen3Model",
    .model_types = "qwen3",
    .names = kDenseLists,
    .keys = kPoolingKeys,
    .defaults = kQwen3Defaults,
    .parameters = &kQwen3Parameters,
    .may_be_reranker = true,
    .tokenizer = {.piece_file = PieceFile::kPreferred},
};

const Family kQwen3Moe = {
    .name = "qwen3moe",
    .architectures = "Qwen3MoeForCausalLM",
    .model_types = "qwen3_moe",
    .names = kMoeLists,
    .keys = kExpertKeys,
    .defaults = kQwen3MoeDefaults,
    .parameters = &kQwen3MoeParameters,
};

}  // namespace ckpt
