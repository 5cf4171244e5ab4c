// Seed-OSS: biases of q, k and v by one field, of the output by another.
//
// Source: transformers models/seed_oss/{modeling,configuration}_seed_oss.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kSeedOssBias[] = {
    {".self_attn.q_proj.bias", "num_attention_heads*head_dim", ServerCut::kRows, "attention_bias"},
    {".self_attn.k_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "attention_bias"},
    {".self_attn.v_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "attention_bias"},
    {".self_attn.o_proj.bias", "hidden_size", ServerCut::kWhole, "attention_out_bias"},
};
constexpr FieldValue kSeedOssFields[] = {
    {"vocab_size", "155136"},       {"hidden_size", "4096"},
    {"intermediate_size", "27648"}, {"num_hidden_layers", "64"},
    {"num_attention_heads", "80"},  {"num_key_value_heads", "8"},
    {"head_dim", "128"},            {"attention_bias", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kSeedOssRules[] = {
    rows::kFrame, rows::kAttention, kSeedOssBias, rows::kMlp, rows::kMlpBias};

}  // namespace

constinit const ParameterTable kSeedOssParameters{"SeedOssForCausalLM", "seed_oss", kSeedOssRules,
                                                  kSeedOssFields};

}  // namespace ckpt
