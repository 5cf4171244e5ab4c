// Mixtral: Llama with experts, whose names are w1 (gate), w2 (down) and w3 (up).
//
// Source: llama.cpp conversion/llama.py (LlamaModel.modify_tensors); defaults: transformers
// models/mixtral/configuration_mixtral.py. Stacks come w1, w2, w3, which is gate, down, up; the
// class leaves head_dim open.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kMixtralNames[] = {
    {"model.layers.{}.self_attn.q_proj", "blk.{}.attn_q", Change::kRopeQuery},
    {"model.layers.{}.self_attn.k_proj", "blk.{}.attn_k", Change::kRopeKey},
    {"model.layers.{}.block_sparse_moe.gate", "blk.{}.ffn_gate_inp", Change::kNone, Store::kF32},
    {"model.layers.{}.block_sparse_moe.experts.{}.w1", "blk.{}.ffn_gate_exps", Change::kExpert},
    {"model.layers.{}.block_sparse_moe.experts.{}.w2", "blk.{}.ffn_down_exps", Change::kExpert},
    {"model.layers.{}.block_sparse_moe.experts.{}.w3", "blk.{}.ffn_up_exps",   Change::kExpert},
};

constexpr KeyRule kMixtralKeys[] = {
    {"vocab_size",           MetaType::kU32, "vocab_size"},
    {"rope.dimension_count", MetaType::kU32, "", KeySource::kRotary},
};

constexpr FieldDefault kMixtralDefaults[] = {
    {"hidden_size", 4096},       {"intermediate_size", 14336},
    {"num_attention_heads", 32}, {"num_key_value_heads", 8, "", "", "num_attention_heads"},
    {"rms_norm_eps", 1e-5},      {"rope_theta", 1e6},
    {"vocab_size", 32000},       {"max_position_embeddings", 131072},
    {"num_experts_per_tok", 2},  {"num_local_experts", 8},
};
// clang-format on

constexpr std::span<const NameRule> kMixtralMine = kMixtralNames;
const std::span<const NameRule> kMixtralLists[] = {kMixtralMine, kCommonNames};

}  // namespace

const Family kMixtral = {
    .name = "llama",
    .architectures = "MixtralForCausalLM",
    .model_types = "mixtral",
    .names = kMixtralLists,
    .keys = kMixtralKeys,
    .defaults = kMixtralDefaults,
    .parameters = &kMixtralParameters,
    .has_rope_factors = true,
    .tokenizer = kLlamaTokenizer,
};

}  // namespace ckpt
