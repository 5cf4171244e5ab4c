// Command R (Cohere) and Command R7B, Command A (Cohere2).
//
// Source: transformers models/cohere{,2}/{modeling,configuration}_*.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kCohereFrame[] = {
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"model.norm.weight",         "hidden_size"},
    {".input_layernorm.weight",   "hidden_size"},
};
constexpr ParameterRule kCohereNorms[] = {
    {".self_attn.q_norm.weight", "num_attention_heads head_dim", ServerCut::kRows, "use_qk_norm"},
    {".self_attn.k_norm.weight", "num_key_value_heads head_dim", ServerCut::kRows, "use_qk_norm"},
};
constexpr FieldValue kCohereFields[] = {
    {"vocab_size", "256000"},       {"hidden_size", "8192"},
    {"intermediate_size", "22528"}, {"num_hidden_layers", "40"},
    {"num_attention_heads", "64"},  {"num_key_value_heads", "num_attention_heads"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"tie_word_embeddings", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kCohereRules[] = {
    kCohereFrame, rows::kAttention, rows::kAttentionBias, kCohereNorms, rows::kMlp};
constexpr std::span<const ParameterRule> kCohere2Rules[] = {kCohereFrame, rows::kAttention,
                                                            rows::kMlp};

}  // namespace

constinit const ParameterTable kCohereParameters{"CohereForCausalLM", "cohere", kCohereRules,
                                                 kCohereFields};
constinit const ParameterTable kCohere2Parameters{"Cohere2ForCausalLM", "cohere2", kCohere2Rules,
                                                  kCohereFields};

}  // namespace ckpt
