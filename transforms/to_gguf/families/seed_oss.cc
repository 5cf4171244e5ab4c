// Seed-OSS: the common rows but for one norm, and nothing changes a value.
//
// Source: llama.cpp conversion/olmo.py (SeedOssModel); defaults: transformers
// models/seed_oss/configuration_seed_oss.py.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kSeedOssNames[] = {   // before the common rows: the first match wins
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"},
};

constexpr FieldDefault kSeedOssDefaults[] = {
    {"hidden_size", 4096},       {"intermediate_size", 27648},
    {"num_attention_heads", 80}, {"num_key_value_heads", 8, "", "", "num_attention_heads"},
    {"head_dim", 128, "", "", "head_dim"},         {"rms_norm_eps", 1e-6},
    {"rope_theta", 10000},       {"vocab_size", 155136},
    {"max_position_embeddings", 524288},
};
// clang-format on

constexpr std::span<const NameRule> kSeedOssOnly = kSeedOssNames;
const std::span<const NameRule> kSeedOssLists[] = {kSeedOssOnly, kCommonNames};

}  // namespace

const Family kSeedOss = {
    .name = "seed_oss",
    .architectures = "SeedOssForCausalLM",
    .model_types = "seed_oss",
    .names = kSeedOssLists,
    .keys = {},
    .defaults = kSeedOssDefaults,
    .parameters = &kSeedOssParameters,
};

}  // namespace ckpt
