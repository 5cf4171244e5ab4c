// Qwen2-VL and Qwen2.5-VL: the text part.
//
// Source: transformers models/qwen2{,_5}_vl/{modeling,configuration}_*.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr FieldValue kQwen2VlFields[] = {
    {"vocab_size", "152064"},       {"hidden_size", "8192"},
    {"intermediate_size", "29568"}, {"num_hidden_layers", "80"},
    {"num_attention_heads", "64"},  {"num_key_value_heads", "8"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
// clang-format on

constexpr std::span<const ParameterRule> kQwen2VlRules[] = {rows::kFrame, rows::kAttention,
                                                            rows::kQkvBias, rows::kMlp};

}  // namespace

constinit const ParameterTable kQwen2VlParameters{
    .architectures = "Qwen2VLForConditionalGeneration",
    .model_types = "qwen2_vl_text qwen2_vl",
    .text = kQwen2VlRules,
    .defaults = kQwen2VlFields,
    .has_other_tower = true};
constinit const ParameterTable kQwen25VlParameters{
    .architectures = "Qwen2_5_VLForConditionalGeneration",
    .model_types = "qwen2_5_vl_text qwen2_5_vl",
    .text = kQwen2VlRules,
    .defaults = kQwen2VlFields,
    .has_other_tower = true};

}  // namespace ckpt
