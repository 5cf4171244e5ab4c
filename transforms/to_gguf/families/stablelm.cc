// StableLM: norms with biases, a part of each head turned.
//
// Source: llama.cpp conversion/stablelm.py (StableLMModel); defaults: transformers
// models/stablelm/configuration_stablelm.py. The file says no rotary base. Norms of single heads
// (qk_layernorm, in StableLM 2 12B) are not converted: their tensors are unknown here.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr KeyRule kStableLmKeys[] = {
    {"context_length",          MetaType::kU32, "max_position_embeddings"},
    {"embedding_length",        MetaType::kU32, "hidden_size"},
    {"block_count",             MetaType::kU32, "", KeySource::kBlockCount},
    {"feed_forward_length",     MetaType::kU32, "intermediate_size"},
    {"rope.dimension_count",    MetaType::kU32, "0.25", KeySource::kPartialRotary},
    {"attention.head_count",    MetaType::kU32, "num_attention_heads"},
    {"attention.head_count_kv", MetaType::kU32, "num_key_value_heads"},
    {"use_parallel_residual",   MetaType::kBool, "use_parallel_residual"},
    {"attention.layer_norm_epsilon", MetaType::kF32, "layer_norm_eps norm_eps"},
    {"general.file_type",       MetaType::kU32, "", KeySource::kFileType},
};

constexpr FieldDefault kStableLmDefaults[] = {
    {"hidden_size", 2560},       {"intermediate_size", 6912},
    {"num_attention_heads", 32}, {"num_key_value_heads", 32},
    {"layer_norm_eps", 1e-5},    {"rope_theta", 10000},
    {"vocab_size", 50304},       {"max_position_embeddings", 4096},
    {"use_parallel_residual", 0}, {"partial_rotary_factor", 0.25},
};
// clang-format on

const std::span<const NameRule> kStableLmLists[] = {kCommonNames};

}  // namespace

const Family kStableLm = {
    .name = "stablelm",
    .architectures = "StableLmForCausalLM",
    .model_types = "stablelm",
    .names = kStableLmLists,
    .keys = kStableLmKeys,
    .defaults = kStableLmDefaults,
    .parameters = &kStableLmParameters,
    .has_common_keys = false,
};

}  // namespace ckpt
