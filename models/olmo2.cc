// OLMo 2 and 3: norms behind attention and MLP alone, q and k normed over all heads.
//
// Source: transformers models/olmo2/{modeling,configuration}_olmo2.py, models/olmo3.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
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

}  // namespace

constinit const ParameterTable kOlmo2Parameters{"Olmo2ForCausalLM", "olmo2", kOlmo2Rules,
                                                kOlmo2Fields};
constinit const ParameterTable kOlmo3Parameters{"Olmo3ForCausalLM", "olmo3", kOlmo2Rules,
                                                kOlmo2Fields};

}  // namespace ckpt
