// The tables of Mixtral, Phi-3 and the Gemmas.
//
// Sources: transformers models/{mixtral,phi3,gemma,gemma2,gemma3}/modeling_*.py (names, shapes),
// configuration_*.py (defaults). Mixtral's experts stand under block_sparse_moe in files, whatever
// the classes call them now.
#include "models/models.h"
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kMixtralExperts[] = {
    {".block_sparse_moe.gate.weight", "num_local_experts hidden_size"},
    {".block_sparse_moe.experts.{}.w1.weight", "intermediate_size hidden_size", ServerCut::kRows},
    {".block_sparse_moe.experts.{}.w2.weight", "hidden_size intermediate_size",
     ServerCut::kColumns},
    {".block_sparse_moe.experts.{}.w3.weight", "intermediate_size hidden_size", ServerCut::kRows},
};
constexpr ParameterRule kFusedLayer[] = {
    {".self_attn.qkv_proj.weight",
     "num_attention_heads*head_dim+2*num_key_value_heads*head_dim hidden_size", ServerCut::kRows},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*head_dim", ServerCut::kColumns},
    {".mlp.gate_up_proj.weight", "2*intermediate_size hidden_size", ServerCut::kRows},
    {".mlp.down_proj.weight",    "hidden_size intermediate_size", ServerCut::kColumns},
};
// Of vLLM's class alone.
constexpr ParameterRule kFusedBias[] = {
    {".self_attn.qkv_proj.bias", "num_attention_heads*head_dim+2*num_key_value_heads*head_dim",
     ServerCut::kRows, "attention_bias"},
    {".self_attn.o_proj.bias", "hidden_size", ServerCut::kWhole, "attention_bias"},
    {".mlp.gate_up_proj.bias", "2*intermediate_size", ServerCut::kRows, "mlp_bias"},
    {".mlp.down_proj.bias",    "hidden_size", ServerCut::kWhole, "mlp_bias"},
};
constexpr ParameterRule kMlpNorms[] = {
    {".pre_feedforward_layernorm.weight",  "hidden_size"},
    {".post_feedforward_layernorm.weight", "hidden_size"},
};

constexpr FieldValue kMixtralFields[] = {
    {"vocab_size", "32000"},        {"hidden_size", "4096"},
    {"intermediate_size", "14336"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "8"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"num_local_experts", "8"},     {"num_experts", "num_local_experts"},
    {"decoder_sparse_step", "1"},
};
constexpr FieldValue kPhi3Fields[] = {
    {"vocab_size", "32064"},        {"hidden_size", "3072"},
    {"intermediate_size", "8192"},  {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "num_attention_heads"},
    {"head_dim", "hidden_size/num_attention_heads"},
};
constexpr FieldValue kGemmaFields[] = {
    {"vocab_size", "256000"},       {"hidden_size", "3072"},
    {"intermediate_size", "24576"}, {"num_hidden_layers", "28"},
    {"num_attention_heads", "16"},  {"num_key_value_heads", "16"},
    {"head_dim", "256"},            {"tie_word_embeddings", "1"},
};
constexpr FieldValue kGemma2Fields[] = {
    {"vocab_size", "256000"},       {"hidden_size", "2304"},
    {"intermediate_size", "9216"},  {"num_hidden_layers", "26"},
    {"num_attention_heads", "8"},   {"num_key_value_heads", "4"},
    {"head_dim", "256"},            {"tie_word_embeddings", "1"},
};
constexpr FieldValue kGemma3Fields[] = {
    {"vocab_size", "262208"},       {"hidden_size", "2304"},
    {"intermediate_size", "9216"},  {"num_hidden_layers", "26"},
    {"num_attention_heads", "8"},   {"num_key_value_heads", "4"},
    {"head_dim", "256"},            {"tie_word_embeddings", "1"},
};

// Heads have two sizes, and the last layers share keys and values and may have wider MLPs: of
// attention and MLP there are rows for what all layers of a kind have in common.
constexpr ParameterRule kGemma4Rows[] = {
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"model.norm.weight",         "hidden_size"},
    {"model.embed_tokens_per_layer.weight",
     "vocab_size_per_layer_input num_hidden_layers*hidden_size_per_layer_input"},
    {"model.per_layer_model_projection.weight",
     "num_hidden_layers*hidden_size_per_layer_input hidden_size"},
    {"model.per_layer_projection_norm.weight",     "hidden_size_per_layer_input"},
    {".input_layernorm.weight",                    "hidden_size"},
    {".post_attention_layernorm.weight",           "hidden_size"},
    {".pre_feedforward_layernorm.weight",          "hidden_size"},
    {".post_feedforward_layernorm.weight",         "hidden_size"},
    {".per_layer_input_gate.weight", "hidden_size_per_layer_input hidden_size"},
    {".per_layer_projection.weight", "hidden_size hidden_size_per_layer_input"},
    {".post_per_layer_input_norm.weight",          "hidden_size"},
    {".layer_scalar",                              "1"},
    {".self_attn.q_proj.weight", "num_attention_heads*head_dim hidden_size", ServerCut::kRows,
     "sliding_attention"},
    {".self_attn.k_proj.weight", "num_key_value_heads*head_dim hidden_size", ServerCut::kRows,
     "sliding_attention"},
    {".self_attn.v_proj.weight", "num_key_value_heads*head_dim hidden_size", ServerCut::kRows,
     "sliding_attention"},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*head_dim", ServerCut::kColumns,
     "sliding_attention"},
    {".self_attn.q_norm.weight", "head_dim", ServerCut::kWhole, "sliding_attention"},
    {".self_attn.k_norm.weight", "head_dim", ServerCut::kWhole, "sliding_attention"},
};
constexpr FieldValue kGemma4Fields[] = {
    {"vocab_size", "262144"},       {"hidden_size", "2304"},
    {"intermediate_size", "9216"},  {"num_hidden_layers", "30"},
    {"num_attention_heads", "8"},   {"num_key_value_heads", "4"},
    {"head_dim", "256"},            {"hidden_size_per_layer_input", "256"},
    {"vocab_size_per_layer_input", "262144"}, {"tie_word_embeddings", "1"},
};
// clang-format on

using RuleList = std::span<const ParameterRule>;
constexpr RuleList kMixtralRules[] = {rows::kFrame, rows::kAttention, kMixtralExperts};
constexpr RuleList kGemma4Rules[] = {kGemma4Rows};
constexpr RuleList kPhi3Rules[] = {rows::kFrame, kFusedLayer, kFusedBias};
constexpr RuleList kGemmaRules[] = {rows::kFrame, rows::kAttention, rows::kAttentionBias,
                                    rows::kMlp};
constexpr RuleList kGemma2Rules[] = {rows::kFrame, rows::kAttention, rows::kAttentionBias,
                                     rows::kMlp, kMlpNorms};
constexpr RuleList kGemma3Rules[] = {rows::kFrame,         rows::kAttention, rows::kAttentionNorms,
                                     rows::kAttentionBias, rows::kMlp,       kMlpNorms};

}  // namespace

constinit const ParameterTable kMixtralParameters{"MixtralForCausalLM", "mixtral", kMixtralRules,
                                                  kMixtralFields};
constinit const ParameterTable kPhi3Parameters{"Phi3ForCausalLM", "phi3", kPhi3Rules, kPhi3Fields};
constinit const ParameterTable kGemmaParameters{"GemmaForCausalLM", "gemma", kGemmaRules,
                                                kGemmaFields};
constinit const ParameterTable kGemma2Parameters{"Gemma2ForCausalLM", "gemma2", kGemma2Rules,
                                                 kGemma2Fields};
constinit const ParameterTable kGemma3Parameters{
    .architectures = "Gemma3ForCausalLM Gemma3ForConditionalGeneration",
    .model_types = "gemma3_text gemma3",
    .text = kGemma3Rules,
    .defaults = kGemma3Fields,
    .has_other_tower = true};

constinit const ParameterTable kGemma4Parameters{
    "Gemma4ForCausalLM", "gemma4_text", kGemma4Rules, kGemma4Fields, false, false, true};

}  // namespace ckpt
