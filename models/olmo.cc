// OLMo, whose norms have no weights; OLMoE, whose q and k are normed over all heads; OLMo 2 and 3:
// norms behind attention and MLP alone, q and k normed over all heads.
//
// Source: transformers models/olmo{,e,2,3}/{modeling,configuration}_*.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kOlmoFrame[] = {
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"lm_head.weight",            "vocab_size hidden_size", ServerCut::kWhole, "head"},
};
constexpr ParameterRule kOlmoeNorms[] = {
    {".self_attn.q_norm.weight", "num_attention_heads*head_dim"},
    {".self_attn.k_norm.weight", "num_key_value_heads*head_dim"},
};
constexpr FieldValue kOlmoFields[] = {
    {"vocab_size", "50304"},        {"hidden_size", "4096"},
    {"intermediate_size", "11008"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "num_attention_heads"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
constexpr FieldValue kOlmoeFields[] = {
    {"vocab_size", "50304"},        {"hidden_size", "2048"},
    {"intermediate_size", "2048"},  {"num_hidden_layers", "16"},
    {"num_attention_heads", "16"},  {"num_key_value_heads", "num_attention_heads"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"num_experts", "64"},          {"moe_intermediate_size", "intermediate_size"},
    {"decoder_sparse_step", "1"},
};
constexpr ParameterRule kOlmo2Frame[] = {
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"model.norm.weight",         "hidden_size"},
    {"lm_head.weight",            "vocab_size hidden_size", ServerCut::kWhole, "head"},
    {".post_attention_layernorm.weight",   "hidden_size"},
    {".post_feedforward_layernorm.weight", "hidden_size"},
    {".self_attn.q_norm.weight", "num_attention_heads*head_dim"},
    {".self_attn.k_norm.weight", "num_key_value_heads*head_dim"},
};
constexpr FieldValue kOlmo2Fields[] = {
    {"vocab_size", "50304"},        {"hidden_size", "4096"},
    {"intermediate_size", "11008"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "num_attention_heads"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
// clang-format on

constexpr std::span<const ParameterRule> kOlmo2Rules[] = {kOlmo2Frame, rows::kAttention,
                                                          rows::kAttentionBias, rows::kMlp};

constexpr std::span<const ParameterRule> kOlmoRules[] = {kOlmoFrame, rows::kAttention,
                                                         rows::kAttentionBias, rows::kMlp};
constexpr std::span<const ParameterRule> kOlmoeRules[] = {
    rows::kFrame, rows::kAttention, rows::kAttentionBias, kOlmoeNorms, rows::kExperts};

}  // namespace

constinit const ParameterTable kOlmoParameters{"OlmoForCausalLM", "olmo", kOlmoRules, kOlmoFields};
constinit const ParameterTable kOlmoeParameters{"OlmoeForCausalLM", "olmoe", kOlmoeRules,
                                                kOlmoeFields};
constinit const ParameterTable kOlmo2Parameters{"Olmo2ForCausalLM", "olmo2", kOlmo2Rules,
                                                kOlmo2Fields};
constinit const ParameterTable kOlmo3Parameters{"Olmo3ForCausalLM", "olmo3", kOlmo2Rules,
                                                kOlmo2Fields};

}  // namespace ckpt
