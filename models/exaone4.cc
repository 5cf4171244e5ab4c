// EXAONE 4.
//
// Source: transformers models/exaone4/{modeling,configuration}_exaone4.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kExaone4Frame[] = {
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"model.norm.weight",         "hidden_size"},
    {"lm_head.weight",            "vocab_size hidden_size", ServerCut::kWhole, "head"},
    {".post_attention_layernorm.weight",   "hidden_size"},
    {".post_feedforward_layernorm.weight", "hidden_size"},
};
constexpr FieldValue kExaone4Fields[] = {
    {"vocab_size", "102400"},       {"hidden_size", "4096"},
    {"intermediate_size", "16384"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "32"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
// clang-format on

constexpr std::span<const ParameterRule> kExaone4Rules[] = {
    kExaone4Frame,        rows::kAttention, rows::kAttentionNorms,
    rows::kAttentionBias,  // vLLM's alone
    rows::kMlp,           rows::kMlpBias};

}  // namespace

constinit const ParameterTable kExaone4Parameters{"Exaone4ForCausalLM", "exaone4", kExaone4Rules,
                                                  kExaone4Fields};

}  // namespace ckpt
