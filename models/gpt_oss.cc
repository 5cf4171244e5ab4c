// gpt-oss: biases everywhere, a sink for each head, experts in two tensors a layer.
//
// Source: transformers models/gpt_oss/{modeling,configuration}_gpt_oss.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kGptOssLayer[] = {
    {".self_attn.sinks", "num_attention_heads", ServerCut::kRows},
    {".mlp.router.weight", "num_local_experts hidden_size"},
    {".mlp.router.bias",   "num_local_experts"},
    {".mlp.experts.gate_up_proj", "num_local_experts hidden_size 2*intermediate_size",
     ServerCut::kColumns},
    {".mlp.experts.gate_up_proj_bias", "num_local_experts 2*intermediate_size",
     ServerCut::kColumns},
    {".mlp.experts.down_proj", "num_local_experts intermediate_size hidden_size",
     ServerCut::kRows},
    {".mlp.experts.down_proj_bias", "num_local_experts hidden_size"},
};
constexpr FieldValue kGptOssFields[] = {
    {"vocab_size", "201088"},      {"hidden_size", "2880"},
    {"intermediate_size", "2880"}, {"num_hidden_layers", "36"},
    {"num_attention_heads", "64"}, {"num_key_value_heads", "8"},
    {"head_dim", "64"},            {"num_local_experts", "128"},
    {"attention_bias", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kGptOssRules[] = {rows::kFrame, rows::kAttention,
                                                           rows::kAttentionBias, kGptOssLayer};

}  // namespace

constinit const ParameterTable kGptOssParameters{"GptOssForCausalLM", "gpt_oss", kGptOssRules,
                                                 kGptOssFields};

}  // namespace ckpt
