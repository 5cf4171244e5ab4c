// DeepSeek-V2, V3, GLM-4.7-Flash and GLM-5: multi-head latent attention, experts behind dense
// layers.
//
// Source: transformers
// models/{deepseek_v2,deepseek_v3,glm4_moe_lite,glm_moe_dsa}/{modeling,configuration}_*.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kMlaAttention[] = {
    {".self_attn.q_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*qk_rope_head_dim hidden_size",
     ServerCut::kRows, "optional"},  // in the place of q_a and q_b where q_lora_rank is null
    {".self_attn.q_a_proj.weight",      "q_lora_rank hidden_size", ServerCut::kRows,
     "q_lora_rank"},
    {".self_attn.q_a_layernorm.weight", "q_lora_rank", ServerCut::kWhole,
     "q_lora_rank"},
    {".self_attn.q_b_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*qk_rope_head_dim q_lora_rank",
     ServerCut::kRows, "q_lora_rank"},
    {".self_attn.kv_a_proj_with_mqa.weight", "kv_lora_rank+qk_rope_head_dim hidden_size",
     ServerCut::kRows},
    {".self_attn.kv_a_layernorm.weight",     "kv_lora_rank"},
    {".self_attn.kv_b_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*v_head_dim kv_lora_rank",
     ServerCut::kRows},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*v_head_dim",
     ServerCut::kColumns},
};
constexpr ParameterRule kDsaIndexer[] = {
    {".self_attn.indexer.wq_b.weight", "index_n_heads*index_head_dim q_lora_rank",
     ServerCut::kWhole, "q_lora_rank optional"},
    {".self_attn.indexer.wk.weight",     "index_head_dim hidden_size", ServerCut::kWhole,
     "optional"},
    {".self_attn.indexer.k_norm.weight", "index_head_dim", ServerCut::kWhole, "optional"},
    {".self_attn.indexer.k_norm.bias",   "index_head_dim", ServerCut::kWhole, "optional"},
    {".self_attn.indexer.weights_proj.weight", "index_n_heads hidden_size", ServerCut::kWhole,
     "optional"},
};
// Those of V3, without a bias of the router.
constexpr std::span<const ParameterRule> kDeepseekV2Router =
    std::span(rows::kRoutedExperts).first(1);
constexpr std::span<const ParameterRule> kDeepseekV2Experts =
    std::span(rows::kRoutedExperts).subspan(2);
constexpr FieldValue kDeepseekV2Fields[] = {
    {"vocab_size", "32000"},        {"hidden_size", "4096"},
    {"intermediate_size", "11008"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"q_lora_rank", "1536"},
    {"kv_lora_rank", "512"},        {"qk_nope_head_dim", "128"},
    {"qk_rope_head_dim", "64"},     {"v_head_dim", "128"},
    {"n_routed_experts", "64"},     {"moe_intermediate_size", "1407"},
    {"n_shared_experts", "2"},      {"first_k_dense_replace", "0"},
    {"decoder_sparse_step", "1"},
};
constexpr FieldValue kDeepseekV3Fields[] = {
    {"vocab_size", "129280"},       {"hidden_size", "7168"},
    {"intermediate_size", "18432"}, {"num_hidden_layers", "61"},
    {"num_attention_heads", "128"}, {"q_lora_rank", "1536"},
    {"kv_lora_rank", "512"},        {"qk_nope_head_dim", "128"},
    {"qk_rope_head_dim", "64"},     {"v_head_dim", "128"},
    {"n_routed_experts", "256"},    {"moe_intermediate_size", "2048"},
    {"n_shared_experts", "1"},      {"first_k_dense_replace", "3"},
    {"decoder_sparse_step", "1"},   {"num_nextn_predict_layers", "1"},
};
constexpr FieldValue kGlm4MoeLiteFields[] = {
    {"vocab_size", "154880"},       {"hidden_size", "2048"},
    {"intermediate_size", "10240"}, {"num_hidden_layers", "47"},
    {"num_attention_heads", "20"},  {"q_lora_rank", "768"},
    {"kv_lora_rank", "512"},        {"qk_nope_head_dim", "192"},
    {"qk_rope_head_dim", "64"},     {"v_head_dim", "256"},
    {"n_routed_experts", "64"},     {"moe_intermediate_size", "1536"},
    {"n_shared_experts", "1"},      {"first_k_dense_replace", "1"},
    {"decoder_sparse_step", "1"},   {"num_nextn_predict_layers", "1"},
};
constexpr FieldValue kGlmMoeDsaFields[] = {
    {"vocab_size", "154880"},       {"hidden_size", "6144"},
    {"intermediate_size", "12288"}, {"num_hidden_layers", "78"},
    {"num_attention_heads", "64"},  {"q_lora_rank", "2048"},
    {"kv_lora_rank", "512"},        {"qk_nope_head_dim", "192"},
    {"qk_rope_head_dim", "64"},     {"v_head_dim", "256"},
    {"n_routed_experts", "256"},    {"moe_intermediate_size", "2048"},
    {"n_shared_experts", "1"},      {"first_k_dense_replace", "3"},
    {"decoder_sparse_step", "1"},   {"num_nextn_predict_layers", "1"},
    {"index_n_heads", "32"},        {"index_head_dim", "128"},
    {"index_topk", "2048"},
};
// clang-format on

constexpr std::span<const ParameterRule> kDeepseekV2Rules[] = {
    rows::kFrame, kMlaAttention, rows::kMlp, kDeepseekV2Router, kDeepseekV2Experts};
constexpr std::span<const ParameterRule> kDeepseekV3Rules[] = {
    rows::kFrame, kMlaAttention, rows::kMlp, rows::kRoutedExperts, rows::kNextn};
constexpr std::span<const ParameterRule> kGlmMoeDsaRules[] = {
    rows::kFrame, kMlaAttention, kDsaIndexer, rows::kMlp, rows::kRoutedExperts, rows::kNextn};

}  // namespace

constinit const ParameterTable kDeepseekV2Parameters{"DeepseekV2ForCausalLM", "deepseek_v2",
                                                     kDeepseekV2Rules, kDeepseekV2Fields};
constinit const ParameterTable kDeepseekV3Parameters{.architectures = "DeepseekV3ForCausalLM",
                                                     .model_types = "deepseek_v3",
                                                     .text = kDeepseekV3Rules,
                                                     .defaults = kDeepseekV3Fields,
                                                     .has_nextn = true};
constinit const ParameterTable kGlm4MoeLiteParameters{.architectures = "Glm4MoeLiteForCausalLM",
                                                      .model_types = "glm4_moe_lite",
                                                      .text = kDeepseekV3Rules,
                                                      .defaults = kGlm4MoeLiteFields,
                                                      .has_nextn = true};
constinit const ParameterTable kGlmMoeDsaParameters{.architectures = "GlmMoeDsaForCausalLM",
                                                    .model_types = "glm_moe_dsa",
                                                    .text = kGlmMoeDsaRules,
                                                    .defaults = kGlmMoeDsaFields,
                                                    .has_nextn = true};

}  // namespace ckpt
