// SmolLM3: Llama's layers under defaults of their own.
//
// Source: transformers models/smollm3/{modeling,configuration}_smollm3.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr FieldValue kSmolLm3Fields[] = {
    {"vocab_size", "128256"},       {"hidden_size", "2048"},
    {"intermediate_size", "11008"}, {"num_hidden_layers", "36"},
    {"num_attention_heads", "16"},  {"num_key_value_heads", "4"},
    {"head_dim", "hidden_size/num_attention_heads"}, {"tie_word_embeddings", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kSmolLm3Rules[] = {
    rows::kFrame, rows::kAttention, rows::kAttentionBias, rows::kMlp, rows::kMlpBias};

}  // namespace

constinit const ParameterTable kSmolLm3Parameters{"SmolLM3ForCausalLM", "smollm3", kSmolLm3Rules,
                                                  kSmolLm3Fields};

}  // namespace ckpt
