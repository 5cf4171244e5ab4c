// Seed-OSS: the common rows but for one norm, and nothing changes a value.
//
// Sources: llama.cpp conversion/olmo.py (SeedOssModel); transformers models/seed_oss.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kSeedOssOutputBias[] = {
    {".self_attn.o_proj.bias", "hidden_size", kWhole, "attention_out_bias"},
};
constexpr ClassDefault kSeedOssDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "27648"}, {"num_attention_heads", "80"},
    rows::key_heads("8"),
    {.field = "head_dim", .value = "128", .null_as = "hidden_size/num_attention_heads"},
    {"rms_norm_eps", "1e-6", kInKeys}, {"rope_theta", "10000", kInKeys}, {"vocab_size", "155136"},
    {"max_position_embeddings", "524288", kInKeys}, {"num_hidden_layers", "64", kInShapes},
    {"attention_bias", "1", kInShapes},
};
// clang-format on

}  // namespace

const Family kSeedOss = {
    .name = "seed_oss",
    .architectures = "SeedOssForCausalLM",
    .model_types = "seed_oss",
    .traits = {.text = {.set = {kAlwaysBiasesQkv, kActivationSilu}}},
    .names = {rows::kNormBehindName, rows::kCommonNames},
    .defaults = kSeedOssDefaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kQkvAttentionBias, kSeedOssOutputBias,
                   rows::kMlp, rows::kMlpBias},
};

}  // namespace ckpt
