// Mistral 3 under its wrapper, and Ministral 3: Mistral's layers under defaults of their own.
//
// Source: transformers models/{mistral3,ministral3}/{modeling,configuration}_*.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr FieldValue kMinistral3Fields[] = {
    {"vocab_size", "131072"},       {"hidden_size", "4096"},
    {"intermediate_size", "14336"}, {"num_hidden_layers", "34"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "8"},
    {"head_dim", "128"},
};
constexpr FieldValue kMistral3Fields[] = {
    {"vocab_size", "32000"},        {"hidden_size", "4096"},
    {"intermediate_size", "14336"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "8"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
// clang-format on

// vLLM's class alone has the biases.
constexpr std::span<const ParameterRule> kMistral3Rules[] = {
    rows::kFrame, rows::kAttention, rows::kAttentionBias, rows::kMlp, rows::kMlpBias};

}  // namespace

constinit const ParameterTable kMinistral3Parameters{"Ministral3ForCausalLM", "ministral3",
                                                     kMistral3Rules, kMinistral3Fields};
constinit const ParameterTable kMistral3Parameters{
    .architectures = "Mistral3ForConditionalGeneration",
    .model_types = "mistral3",
    .text = kMistral3Rules,
    .defaults = kMistral3Fields,
    .has_other_tower = true};

}  // namespace ckpt
