// Phi-3.5 MoE: norms and, by two fields, linear layers have biases, the head too.
//
// Source: transformers models/phimoe/{modeling,configuration}_phimoe.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kPhiMoeRows[] = {
    {"lm_head.bias",    "vocab_size", ServerCut::kWhole, "lm_head_bias"},
    {"model.norm.bias", "hidden_size"},
    {".input_layernorm.bias",          "hidden_size"},
    {".post_attention_layernorm.bias", "hidden_size"},
    {".block_sparse_moe.gate.weight", "num_local_experts hidden_size"},
    {".block_sparse_moe.experts.{}.w1.weight", "intermediate_size hidden_size", ServerCut::kRows},
    {".block_sparse_moe.experts.{}.w2.weight", "hidden_size intermediate_size",
     ServerCut::kColumns},
    {".block_sparse_moe.experts.{}.w3.weight", "intermediate_size hidden_size", ServerCut::kRows},
};
constexpr FieldValue kPhiMoeFields[] = {
    {"vocab_size", "32064"},        {"hidden_size", "4096"},
    {"intermediate_size", "6400"},  {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "8"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"num_local_experts", "16"},    {"num_experts", "num_local_experts"},
    {"decoder_sparse_step", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kPhiMoeRules[] = {rows::kFrame, rows::kAttention,
                                                           rows::kAttentionBias, kPhiMoeRows};

}  // namespace

constinit const ParameterTable kPhiMoeParameters{"PhiMoEForCausalLM", "phimoe", kPhiMoeRules,
                                                 kPhiMoeFields};

}  // namespace ckpt
