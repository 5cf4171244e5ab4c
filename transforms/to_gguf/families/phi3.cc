// Phi-3, Phi-3.5 and Phi-4: query, key and value are one matrix, gate and up another, and both stay
// so; the factors of long contexts become two tensors.
//
// Source: llama.cpp conversion/phi.py (Phi3MiniModel); defaults: transformers
// models/phi3/configuration_phi3.py. Keys have an order of their own, and the factor of attention
// stands before them all; a window of 0 tells Phi-4 from the others.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kPhi3Names[] = {
    {"model.layers.{}.self_attn.qkv_proj",  "blk.{}.attn_qkv"},
    {"model.layers.{}.mlp.gate_up_proj",    "blk.{}.ffn_up"},
};

constexpr KeyRule kPhi3EarlyKeys[] = {
    {"rope.scaling.attn_factor", MetaType::kF32, "", KeySource::kLongRopeAttention},
};

constexpr KeyRule kPhi3Keys[] = {
    {"context_length",          MetaType::kU32, "n_positions max_position_embeddings"},
    {"rope.scaling.original_context_length", MetaType::kU32, "original_max_position_embeddings",
     KeySource::kRopeField},
    {"embedding_length",        MetaType::kU32, "hidden_size n_embd"},
    {"feed_forward_length",     MetaType::kU32, "intermediate_size"},
    {"block_count",             MetaType::kU32, "", KeySource::kBlockCount},
    {"attention.head_count",    MetaType::kU32, "num_attention_heads n_head"},
    {"attention.head_count_kv", MetaType::kU32, "num_key_value_heads n_head_kv"},
    {"attention.layer_norm_rms_epsilon", MetaType::kF32, "rms_norm_eps"},
    {"rope.dimension_count",    MetaType::kU32, "", KeySource::kPartialHidden},
    {"rope.freq_base",          MetaType::kF32, "", KeySource::kRopeBase},
    {"general.file_type",       MetaType::kU32, "", KeySource::kFileType},
    {"attention.sliding_window", MetaType::kU32, "sliding_window", KeySource::kFieldOrZero},
};

constexpr FieldDefault kPhi3Defaults[] = {
    {"hidden_size", 3072},       {"intermediate_size", 8192},
    {"num_attention_heads", 32}, {"num_key_value_heads", 0, "num_attention_heads"},
    {"rms_norm_eps", 1e-5},      {"rope_theta", 10000},
    {"vocab_size", 32064},       {"max_position_embeddings", 4096},
    {"original_max_position_embeddings", 4096},
};

constexpr NameRule kPhiMoeNames[] = {   // before the common rows: the first match wins
    {"model.layers.{}.block_sparse_moe.gate", "blk.{}.ffn_gate_inp", Change::kNone, Store::kF32},
    {"model.layers.{}.block_sparse_moe.experts.{}.w1", "blk.{}.ffn_gate_exps", Change::kExpert},
    {"model.layers.{}.block_sparse_moe.experts.{}.w2", "blk.{}.ffn_down_exps", Change::kExpert},
    {"model.layers.{}.block_sparse_moe.experts.{}.w3", "blk.{}.ffn_up_exps",   Change::kExpert},
};

constexpr KeyRule kPhiMoeKeys[] = {
    {"expert_used_count", MetaType::kU32, "num_experts_per_tok"},
    {"expert_count",      MetaType::kU32, "num_local_experts"},
};

constexpr FieldDefault kPhiMoeDefaults[] = {
    {"hidden_size", 4096},       {"intermediate_size", 6400},
    {"num_attention_heads", 32}, {"num_key_value_heads", 8, "", "", "num_attention_heads"},
    {"rms_norm_eps", 1e-5},      {"rope_theta", 1e6},
    {"vocab_size", 32064},       {"max_position_embeddings", 131072},
    {"num_local_experts", 16},   {"num_experts_per_tok", 2},
};
// clang-format on

constexpr std::span<const NameRule> kPhiMoeOnly = kPhiMoeNames;
const std::span<const NameRule> kPhiMoeLists[] = {kPhiMoeOnly, kCommonNames};
constexpr std::span<const NameRule> kPhi3Mine = kPhi3Names;
const std::span<const NameRule> kPhi3Lists[] = {kPhi3Mine, kCommonNames};

}  // namespace

const Family kPhi3 = {
    .name = "phi3",
    .architectures = "Phi3ForCausalLM",
    .model_types = "phi3",
    .names = kPhi3Lists,
    .keys = kPhi3Keys,
    .defaults = kPhi3Defaults,
    .parameters = &kPhi3Parameters,
    .has_long_rope = true,
    .tokenizer = {.piece_file = PieceFile::kRequired, .keeps_added_texts = true},
    .has_common_keys = false,
    .early_keys = kPhi3EarlyKeys,
};

const Family kPhiMoe = {
    .name = "phimoe",
    .architectures = "PhiMoEForCausalLM",
    .model_types = "phimoe",
    .names = kPhiMoeLists,
    .keys = kPhi3Keys,
    .defaults = kPhiMoeDefaults,
    .parameters = &kPhiMoeParameters,
    .more_keys = kPhiMoeKeys,
    .has_long_rope = true,
    .tokenizer = {.piece_file = PieceFile::kRequired, .keeps_added_texts = true},
    .has_common_keys = false,
    .early_keys = kPhi3EarlyKeys,
};

}  // namespace ckpt
