// Qwen3-VL, dense and mixture of experts: the text part, which is Qwen3's with M-RoPE sections.
//
// Source: llama.cpp conversion/qwen3vl.py (Qwen3VLTextModel, Qwen3VLMoeTextModel); defaults:
// transformers models/qwen3_vl{,_moe}/configuration_*.py. Stacked experts are stored [expert, in,
// out], gate before up, unlike those of Qwen3.5, except in folders that transformers 5 saved; how
// many layers take what the tower saw is said by the tower's configuration.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kQwen3VlMoeNames[] = {   // before the expert rows: the first match wins
    {"model.layers.{}.mlp.experts.gate_up_proj",        "blk.{}.ffn_gate_exps.weight",
     Change::kSwapHalves, Store::kByRules,              "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.gate_up_proj.weight", "blk.{}.ffn_gate_exps.weight",
     Change::kSwapHalves, Store::kByRules,              "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.down_proj",           "blk.{}.ffn_down_exps.weight",
     Change::kSwap},
    {"model.layers.{}.mlp.experts.down_proj.weight",    "blk.{}.ffn_down_exps.weight",
     Change::kSwap},
};

constexpr KeyRule kQwen3VlKeys[] = {
    {"pooling_type",       MetaType::kU32, "", KeySource::kPooling},
    {"n_deepstack_layers", MetaType::kU32, "deepstack_visual_indexes", KeySource::kDeepstack},
};
constexpr KeyRule kQwen3VlMoeKeys[] = {
    {"expert_feed_forward_length",        MetaType::kU32, "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", MetaType::kU32, "shared_expert_intermediate_size"},
    {"n_deepstack_layers", MetaType::kU32, "deepstack_visual_indexes", KeySource::kDeepstack},
};

constexpr FieldDefault kQwen3VlDefaults[] = {
    {"hidden_size", 4096},         {"intermediate_size", 22016},
    {"num_attention_heads", 32},   {"num_key_value_heads", 32, "", "", "num_attention_heads"},
    {"rms_norm_eps", 1e-6},        {"rope_theta", 5000000},
    {"vocab_size", 151936},        {"max_position_embeddings", 128000},
    {"head_dim", 128},
};
constexpr FieldDefault kQwen3VlMoeDefaults[] = {
    {"hidden_size", 2048},         {"intermediate_size", 5632},
    {"num_attention_heads", 16},   {"num_key_value_heads", 16, "", "", "num_attention_heads"},
    {"rms_norm_eps", 1e-6},        {"rope_theta", 5000000},
    {"vocab_size", 151936},        {"max_position_embeddings", 128000},
    {"moe_intermediate_size", 1408}, {"head_dim", 0, "head_dim"},
    {"num_experts_per_tok", 4},    {"num_experts", 60},
};
// clang-format on

constexpr std::span<const NameRule> kQwen3VlMoeOnly = kQwen3VlMoeNames;
const std::span<const NameRule> kQwen3VlLists[] = {kCommonNames};
const std::span<const NameRule> kQwen3VlMoeLists[] = {kQwen3VlMoeOnly, kExpertNames, kCommonNames};
const std::span<const NameRule> kQwen3VlTurnedLists[] = {kExpertNames, kCommonNames};

const Family kQwen3VlMoeTurned = {
    .name = "qwen3vlmoe",
    .architectures = "Qwen3VLMoeForConditionalGeneration",
    .model_types = "qwen3_vl_moe_text qwen3_vl_moe",
    .names = kQwen3VlTurnedLists,
    .keys = kQwen3VlMoeKeys,
    .defaults = kQwen3VlMoeDefaults,
    .parameters = &kQwen3VlMoeTurnedParameters,
};

}  // namespace

const Family kQwen3Vl = {
    .name = "qwen3vl",
    .architectures = "Qwen3VLForConditionalGeneration",
    .model_types = "qwen3_vl_text qwen3_vl",
    .names = kQwen3VlLists,
    .keys = kQwen3VlKeys,
    .defaults = kQwen3VlDefaults,
    .parameters = &kQwen3VlParameters,
    .may_be_reranker = true,
    .tokenizer = {.piece_file = PieceFile::kPreferred},
};

const Family kQwen3VlMoe = {
    .name = "qwen3vlmoe",
    .architectures = "Qwen3VLMoeForConditionalGeneration",
    .model_types = "qwen3_vl_moe_text qwen3_vl_moe",
    .names = kQwen3VlMoeLists,
    .keys = kQwen3VlMoeKeys,
    .defaults = kQwen3VlMoeDefaults,
    .parameters = &kQwen3VlMoeParameters,
    .turned = &kQwen3VlMoeTurned,
};

}  // namespace ckpt
