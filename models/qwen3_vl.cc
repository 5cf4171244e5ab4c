// Qwen3-VL, dense and mixture of experts: the text part.
//
// Source: transformers models/qwen3_vl{,_moe}/{modeling,configuration}_*.py. Stacked experts lie
// [expert, in, out] in released files, [expert, out, in] in those that transformers 5 saved.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kQwen3VlExperts[] = {
    {".mlp.gate.weight", "num_experts hidden_size", ServerCut::kWhole, "sparse"},
    {".mlp.experts.{}.gate_proj.weight", "moe_intermediate_size hidden_size", ServerCut::kRows,
     "sparse separate"},
    {".mlp.experts.{}.up_proj.weight", "moe_intermediate_size hidden_size", ServerCut::kRows,
     "sparse separate"},
    {".mlp.experts.{}.down_proj.weight", "hidden_size moe_intermediate_size", ServerCut::kColumns,
     "sparse separate"},
    {".mlp.experts.gate_up_proj", "num_experts hidden_size 2*moe_intermediate_size",
     ServerCut::kColumns, "sparse stacked"},
    {".mlp.experts.down_proj", "num_experts moe_intermediate_size hidden_size", ServerCut::kRows,
     "sparse stacked"},
};
constexpr ParameterRule kQwen3VlTurnedExperts[] = {
    {".mlp.gate.weight", "num_experts hidden_size", ServerCut::kWhole, "sparse"},
    {".mlp.experts.gate_up_proj", "num_experts 2*moe_intermediate_size hidden_size",
     ServerCut::kRows, "sparse stacked"},
    {".mlp.experts.down_proj", "num_experts hidden_size moe_intermediate_size",
     ServerCut::kColumns, "sparse stacked"},
};
constexpr FieldValue kQwen3VlFields[] = {
    {"vocab_size", "151936"},       {"hidden_size", "4096"},
    {"intermediate_size", "22016"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "32"},
    {"head_dim", "128"},
};
constexpr FieldValue kQwen3VlMoeFields[] = {
    {"vocab_size", "151936"},       {"hidden_size", "2048"},
    {"intermediate_size", "5632"},  {"num_hidden_layers", "24"},
    {"num_attention_heads", "16"},  {"num_key_value_heads", "16"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"num_experts", "60"},          {"moe_intermediate_size", "1408"},
    {"decoder_sparse_step", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kQwen3VlRules[] = {
    rows::kFrame, rows::kAttention, rows::kAttentionNorms, rows::kAttentionBias, rows::kMlp};
constexpr std::span<const ParameterRule> kQwen3VlMoeRules[] = {
    rows::kFrame,         rows::kAttention, rows::kAttentionNorms,
    rows::kAttentionBias, rows::kMlp,       kQwen3VlExperts};
constexpr std::span<const ParameterRule> kQwen3VlMoeTurnedRules[] = {
    rows::kFrame,         rows::kAttention, rows::kAttentionNorms,
    rows::kAttentionBias, rows::kMlp,       kQwen3VlTurnedExperts};

}  // namespace

constinit const ParameterTable kQwen3VlParameters{
    .architectures = "Qwen3VLForConditionalGeneration",
    .model_types = "qwen3_vl_text qwen3_vl",
    .text = kQwen3VlRules,
    .defaults = kQwen3VlFields,
    .has_vision = true};
constinit const ParameterTable kQwen3VlMoeTurnedParameters{
    .architectures = "Qwen3VLMoeForConditionalGeneration",
    .model_types = "qwen3_vl_moe_text qwen3_vl_moe",
    .text = kQwen3VlMoeTurnedRules,
    .defaults = kQwen3VlMoeFields,
    .has_vision = true};
constinit const ParameterTable kQwen3VlMoeParameters{
    .architectures = "Qwen3VLMoeForConditionalGeneration",
    .model_types = "qwen3_vl_moe_text qwen3_vl_moe",
    .text = kQwen3VlMoeRules,
    .defaults = kQwen3VlMoeFields,
    .has_vision = true};

}  // namespace ckpt
