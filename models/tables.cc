// The tables of Llama, Mistral, Qwen2, Qwen3 and Qwen3.5.
//
// Sources: transformers models/{llama,mistral,qwen2,qwen2_moe,qwen3,qwen3_moe,qwen3_5,qwen3_5_moe}/
// modeling_*.py (names, shapes), configuration_*.py (defaults; base_model_tp_plan: colwise is
// kRows, rowwise kColumns). Qwen2 has biases that no field speaks of; Qwen3.5 computes a gate
// beside each query, so q_proj has twice the rows.
#include <algorithm>

#include "core/base/words.h"
#include "models/models.h"
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kLinearAttention[] = {
    {".linear_attn.in_proj_qkv.weight",
     "2*linear_num_key_heads*linear_key_head_dim+linear_num_value_heads*linear_value_head_dim"
     " hidden_size", ServerCut::kRows,
     "linear_attention"},
    {".linear_attn.in_proj_z.weight",
     "linear_num_value_heads*linear_value_head_dim hidden_size", ServerCut::kRows,
     "linear_attention"},
    {".linear_attn.in_proj_a.weight", "linear_num_value_heads hidden_size", ServerCut::kRows,
     "linear_attention"},
    {".linear_attn.in_proj_b.weight", "linear_num_value_heads hidden_size", ServerCut::kRows,
     "linear_attention"},
    {".linear_attn.conv1d.weight",
     "2*linear_num_key_heads*linear_key_head_dim+linear_num_value_heads*linear_value_head_dim"
     " 1 linear_conv_kernel_dim", ServerCut::kRows,
     "linear_attention"},
    {".linear_attn.A_log",   "linear_num_value_heads", ServerCut::kRows, "linear_attention"},
    {".linear_attn.dt_bias", "linear_num_value_heads", ServerCut::kRows, "linear_attention"},
    {".linear_attn.norm.weight", "linear_value_head_dim", ServerCut::kWhole, "linear_attention"},
    {".linear_attn.out_proj.weight",
     "hidden_size linear_num_value_heads*linear_value_head_dim", ServerCut::kColumns,
     "linear_attention"},
};

constexpr FieldValue kLlamaFields[] = {
    {"vocab_size", "32000"},       {"hidden_size", "4096"},
    {"intermediate_size", "11008"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"}, {"num_key_value_heads", "num_attention_heads"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
constexpr FieldValue kMistralFields[] = {
    {"vocab_size", "32000"},       {"hidden_size", "4096"},
    {"intermediate_size", "14336"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"}, {"num_key_value_heads", "8"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
constexpr FieldValue kQwen2Fields[] = {
    {"vocab_size", "151936"},      {"hidden_size", "4096"},
    {"intermediate_size", "22016"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"}, {"num_key_value_heads", "32"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
constexpr FieldValue kQwen3Fields[] = {
    {"vocab_size", "151936"},      {"hidden_size", "4096"},
    {"intermediate_size", "22016"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"}, {"num_key_value_heads", "32"},
    {"head_dim", "128"},
};
constexpr FieldValue kQwen2MoeFields[] = {
    {"vocab_size", "151936"},      {"hidden_size", "2048"},
    {"intermediate_size", "5632"}, {"num_hidden_layers", "24"},
    {"num_attention_heads", "16"}, {"num_key_value_heads", "16"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"num_experts", "60"},         {"moe_intermediate_size", "1408"},
    {"decoder_sparse_step", "1"},  {"shared_expert_intermediate_size", "5632"},
};
constexpr FieldValue kQwen3MoeFields[] = {
    {"vocab_size", "151936"},      {"hidden_size", "2048"},
    {"intermediate_size", "6144"}, {"num_hidden_layers", "24"},
    {"num_attention_heads", "32"}, {"num_key_value_heads", "4"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"num_experts", "128"},        {"moe_intermediate_size", "768"},
    {"decoder_sparse_step", "1"},
};
constexpr FieldValue kQwen35Fields[] = {
    {"vocab_size", "248320"},      {"hidden_size", "4096"},
    {"intermediate_size", "12288"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "16"}, {"num_key_value_heads", "4"},
    {"head_dim", "256"},           {"full_attention_interval", "4"},
    {"linear_conv_kernel_dim", "4"}, {"linear_key_head_dim", "128"},
    {"linear_value_head_dim", "128"}, {"linear_num_key_heads", "16"},
    {"linear_num_value_heads", "32"},
};
constexpr FieldValue kQwen35MoeFields[] = {
    {"vocab_size", "248320"},      {"hidden_size", "2048"},
    {"num_hidden_layers", "40"},
    {"num_attention_heads", "16"}, {"num_key_value_heads", "2"},
    {"head_dim", "256"},           {"full_attention_interval", "4"},
    {"linear_conv_kernel_dim", "4"}, {"linear_key_head_dim", "128"},
    {"linear_value_head_dim", "128"}, {"linear_num_key_heads", "16"},
    {"linear_num_value_heads", "32"},
    {"num_experts", "256"},        {"moe_intermediate_size", "512"},
    {"decoder_sparse_step", "1"},  {"shared_expert_intermediate_size", "512"},
};
// clang-format on

using Rules = std::span<const ParameterRule>;
constexpr Rules kLlamaRules[] = {rows::kFrame, rows::kAttention, rows::kAttentionBias, rows::kMlp,
                                 rows::kMlpBias};
// vLLM's class alone has the biases.
constexpr Rules kMistralRules[] = {rows::kFrame, rows::kAttention, rows::kAttentionBias, rows::kMlp,
                                   rows::kMlpBias};
constexpr Rules kQwen2Rules[] = {rows::kFrame, rows::kAttention, rows::kQkvBias, rows::kMlp};
constexpr Rules kQwen3Rules[] = {rows::kFrame, rows::kAttention, rows::kAttentionNorms,
                                 rows::kAttentionBias, rows::kMlp};
constexpr Rules kQwen2MoeRules[] = {rows::kFrame, rows::kAttention, rows::kQkvBias,
                                    rows::kMlp,   rows::kExperts,   rows::kSharedExpert};
constexpr Rules kQwen3MoeRules[] = {rows::kFrame,         rows::kAttention, rows::kAttentionNorms,
                                    rows::kAttentionBias, rows::kMlp,       rows::kExperts};
constexpr Rules kQwen35Rules[] = {rows::kFrame, rows::kGatedAttention, kLinearAttention,
                                  rows::kMlp};
constexpr Rules kQwen35MoeRules[] = {rows::kFrame, rows::kGatedAttention, kLinearAttention,
                                     rows::kExperts, rows::kSharedExpert};

const ParameterTable* const kTables[] = {
    &kLlamaParameters,       &kMistralParameters,     &kQwen2Parameters,
    &kQwen2MoeParameters,    &kQwen3Parameters,       &kQwen3MoeParameters,
    &kQwen35Parameters,      &kQwen35MoeParameters,   &kMixtralParameters,
    &kPhi3Parameters,        &kGemmaParameters,       &kGemma2Parameters,
    &kGemma3Parameters,      &kOlmo2Parameters,       &kOlmo3Parameters,
    &kSeedOssParameters,     &kSmolLm3Parameters,     &kMiniMaxM2Parameters,
    &kGlm4MoeParameters,     &kMinistral3Parameters,  &kMistral3Parameters,
    &kLfm2Parameters,        &kLfm2MoeParameters,     &kQwen3NextParameters,
    &kGptOssParameters,      &kLlama4Parameters,      &kDeepseekV3Parameters,
    &kGlm4MoeLiteParameters, &kGlmMoeDsaParameters,   &kGraniteHybridParameters,
    &kNemotronHParameters,   &kQwen3VlParameters,     &kQwen3VlMoeParameters,
    &kGranite3Parameters,    &kGranite3MoeParameters, &kOlmoParameters,
    &kOlmoeParameters,       &kExaone4Parameters,     &kGlm4Parameters,
    &kStarcoder2Parameters,  &kStableLmParameters,    &kCohereParameters,
    &kCohere2Parameters,     &kPhi2Parameters,        &kGranite3SharedParameters,
    &kDeepseekV2Parameters,  &kPhiMoeParameters,      &kErnieParameters,
    &kErnieMoeParameters,    &kGptNeoxParameters,     &kQwen2VlParameters,
    &kQwen25VlParameters};

}  // namespace

constinit const ParameterTable kLlamaParameters{"LlamaForCausalLM LLaMAForCausalLM LlamaModel",
                                                "llama", kLlamaRules, kLlamaFields};
constinit const ParameterTable kMistralParameters{"MistralForCausalLM MistralModel", "mistral",
                                                  kMistralRules, kMistralFields};
constinit const ParameterTable kQwen2Parameters{"Qwen2ForCausalLM Qwen2Model", "qwen2", kQwen2Rules,
                                                kQwen2Fields};
constinit const ParameterTable kQwen2MoeParameters{"Qwen2MoeForCausalLM", "qwen2_moe",
                                                   kQwen2MoeRules, kQwen2MoeFields};
constinit const ParameterTable kQwen3Parameters{"Qwen3ForCausalLM Qwen3Model", "qwen3", kQwen3Rules,
                                                kQwen3Fields};
constinit const ParameterTable kQwen3MoeParameters{"Qwen3MoeForCausalLM", "qwen3_moe",
                                                   kQwen3MoeRules, kQwen3MoeFields};
constinit const ParameterTable kQwen35Parameters{
    "Qwen3_5ForCausalLM Qwen3_5ForConditionalGeneration",
    "qwen3_5_text qwen3_5",
    kQwen35Rules,
    kQwen35Fields,
    true,
    true};
constinit const ParameterTable kQwen35MoeParameters{
    "Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration",
    "qwen3_5_moe_text qwen3_5_moe",
    kQwen35MoeRules,
    kQwen35MoeFields,
    true,
    true};

const ParameterTable* table_of_architecture(std::string_view architecture) {
  for (const ParameterTable* table : kTables) {
    if (has_word(table->architectures, architecture)) return table;
  }
  return nullptr;
}

const ParameterTable* table_of_model_type(std::string_view model_type) {
  for (const ParameterTable* table : kTables) {
    if (has_word(table->model_types, model_type)) return table;
  }
  return nullptr;
}

}  // namespace ckpt
