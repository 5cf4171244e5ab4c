// GLM 4.5 and 4.6.
//
// Source: transformers models/glm4_moe/{modeling,configuration}_glm4_moe.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kGlm4MoeNorms[] = {
    {".self_attn.q_norm.weight", "head_dim", ServerCut::kWhole, "use_qk_norm"},
    {".self_attn.k_norm.weight", "head_dim", ServerCut::kWhole, "use_qk_norm"},
};
constexpr ParameterRule kGlm4MoeBias[] = {
    {".self_attn.q_proj.bias", "num_attention_heads*head_dim", ServerCut::kRows, "attention_bias"},
    {".self_attn.k_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "attention_bias"},
    {".self_attn.v_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "attention_bias"},
};
constexpr FieldValue kGlm4MoeFields[] = {
    {"vocab_size", "151552"},       {"hidden_size", "4096"},
    {"intermediate_size", "10944"}, {"num_hidden_layers", "46"},
    {"num_attention_heads", "96"},  {"num_key_value_heads", "8"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"n_routed_experts", "128"},    {"moe_intermediate_size", "1408"},
    {"n_shared_experts", "1"},      {"first_k_dense_replace", "1"},
    {"decoder_sparse_step", "1"},   {"num_nextn_predict_layers", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kGlm4MoeRules[] = {
    rows::kFrame, rows::kAttention,     kGlm4MoeNorms, kGlm4MoeBias,
    rows::kMlp,   rows::kRoutedExperts, rows::kNextn};

}  // namespace

constinit const ParameterTable kGlm4MoeParameters{.architectures = "Glm4MoeForCausalLM",
                                                  .model_types = "glm4_moe",
                                                  .text = kGlm4MoeRules,
                                                  .defaults = kGlm4MoeFields,
                                                  .has_nextn = true};

}  // namespace ckpt
