// ERNIE 4.5, dense and with experts from a layer on.
//
// Source: transformers models/ernie4_5{,_moe}/{modeling,configuration}_*.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kErnieBias[] = {
    {".self_attn.q_proj.bias", "num_attention_heads*head_dim", ServerCut::kRows, "use_bias"},
    {".self_attn.k_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "use_bias"},
    {".self_attn.v_proj.bias", "num_key_value_heads*head_dim", ServerCut::kRows, "use_bias"},
    {".self_attn.o_proj.bias", "hidden_size", ServerCut::kWhole, "use_bias"},
    {".mlp.gate_proj.bias", "intermediate_size", ServerCut::kRows, "dense use_bias"},
    {".mlp.up_proj.bias",   "intermediate_size", ServerCut::kRows, "dense use_bias"},
    {".mlp.down_proj.bias", "hidden_size", ServerCut::kWhole, "dense use_bias"},
};
constexpr ParameterRule kErnieExperts[] = {
    {".mlp.gate.weight", "moe_num_experts hidden_size", ServerCut::kWhole, "sparse"},
    {".mlp.moe_statics.e_score_correction_bias", "1 moe_num_experts", ServerCut::kWhole,
     "sparse"},
    {".mlp.experts.{}.gate_proj.weight", "moe_intermediate_size hidden_size", ServerCut::kRows,
     "sparse"},
    {".mlp.experts.{}.up_proj.weight", "moe_intermediate_size hidden_size", ServerCut::kRows,
     "sparse"},
    {".mlp.experts.{}.down_proj.weight", "hidden_size moe_intermediate_size", ServerCut::kColumns,
     "sparse"},
    {".mlp.shared_experts.gate_proj.weight",
     "moe_num_shared_experts*moe_intermediate_size hidden_size", ServerCut::kRows,
     "sparse moe_num_shared_experts"},
    {".mlp.shared_experts.up_proj.weight",
     "moe_num_shared_experts*moe_intermediate_size hidden_size", ServerCut::kRows,
     "sparse moe_num_shared_experts"},
    {".mlp.shared_experts.down_proj.weight",
     "hidden_size moe_num_shared_experts*moe_intermediate_size", ServerCut::kColumns,
     "sparse moe_num_shared_experts"},
};
constexpr FieldValue kErnieFields[] = {
    {"vocab_size", "103424"},       {"hidden_size", "1024"},
    {"intermediate_size", "3072"},  {"num_hidden_layers", "18"},
    {"num_attention_heads", "16"},  {"num_key_value_heads", "2"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"tie_word_embeddings", "1"},
};
constexpr FieldValue kErnieMoeFields[] = {
    {"vocab_size", "103424"},       {"hidden_size", "2560"},
    {"intermediate_size", "12288"}, {"num_hidden_layers", "28"},
    {"num_attention_heads", "20"},  {"num_key_value_heads", "4"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"moe_num_experts", "64"},      {"moe_k", "6"},
    {"moe_intermediate_size", "1536"}, {"moe_num_shared_experts", "2"},
    {"moe_layer_start_index", "1"}, {"moe_layer_interval", "1"},
    {"num_experts", "moe_num_experts"},
    {"first_k_dense_replace", "moe_layer_start_index"},
    {"decoder_sparse_step", "moe_layer_interval"},
    {"tie_word_embeddings", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kErnieRules[] = {rows::kFrame, rows::kAttention,
                                                          kErnieBias, rows::kMlp};
constexpr std::span<const ParameterRule> kErnieMoeRules[] = {rows::kFrame, rows::kAttention,
                                                             kErnieBias, rows::kMlp, kErnieExperts};

}  // namespace

constinit const ParameterTable kErnieParameters{"Ernie4_5ForCausalLM Ernie4_5_ForCausalLM",
                                                "ernie4_5", kErnieRules, kErnieFields};
constinit const ParameterTable kErnieMoeParameters{"Ernie4_5_MoeForCausalLM", "ernie4_5_moe",
                                                   kErnieMoeRules, kErnieMoeFields};

}  // namespace ckpt
