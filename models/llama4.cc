// Llama 4: experts in two tensors a layer with a shared one beside them, or a dense layer.
//
// Source: transformers models/llama4/{modeling,configuration}_llama4.py.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kLlama4Layer[] = {
    {".feed_forward.router.weight", "num_local_experts hidden_size", ServerCut::kWhole, "sparse"},
    {".feed_forward.experts.gate_up_proj", "num_local_experts hidden_size 2*intermediate_size",
     ServerCut::kColumns, "sparse"},
    {".feed_forward.experts.down_proj", "num_local_experts intermediate_size hidden_size",
     ServerCut::kRows, "sparse"},
    {".feed_forward.shared_expert.gate_proj.weight", "intermediate_size hidden_size",
     ServerCut::kRows, "sparse"},
    {".feed_forward.shared_expert.up_proj.weight", "intermediate_size hidden_size",
     ServerCut::kRows, "sparse"},
    {".feed_forward.shared_expert.down_proj.weight", "hidden_size intermediate_size",
     ServerCut::kColumns, "sparse"},
    {".feed_forward.gate_proj.weight", "intermediate_size_mlp hidden_size", ServerCut::kRows,
     "dense"},
    {".feed_forward.up_proj.weight", "intermediate_size_mlp hidden_size", ServerCut::kRows,
     "dense"},
    {".feed_forward.down_proj.weight", "hidden_size intermediate_size_mlp", ServerCut::kColumns,
     "dense"},
};
constexpr FieldValue kLlama4Fields[] = {
    {"vocab_size", "202048"},      {"hidden_size", "5120"},
    {"intermediate_size", "8192"}, {"intermediate_size_mlp", "16384"},
    {"num_hidden_layers", "48"},   {"head_dim", "128"},
    {"num_attention_heads", "40"}, {"num_key_value_heads", "8"},
    {"num_local_experts", "16"},   {"interleave_moe_layer_step", "1"},
    {"decoder_sparse_step", "interleave_moe_layer_step"},
};
// clang-format on

constexpr std::span<const ParameterRule> kLlama4Rules[] = {rows::kFrame, rows::kAttention,
                                                           rows::kAttentionBias, kLlama4Layer};

}  // namespace

constinit const ParameterTable kLlama4Parameters{
    .architectures = "Llama4ForConditionalGeneration Llama4ForCausalLM",
    .model_types = "llama4_text llama4",
    .text = kLlama4Rules,
    .defaults = kLlama4Fields,
    .has_other_tower = true};

}  // namespace ckpt
