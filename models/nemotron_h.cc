// Nemotron-H: each layer is Mamba 2 (M), attention (*) or an MLP (-), by hybrid_override_pattern.
//
// Source: the class's own modeling_nemotron_h.py and configuration_nemotron_h.py. Tensors are
// called backbone.* and not model.*; the width of a head is head_dim, in older files
// attention_head_dim.
#include "models/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kNemotronHLayer[] = {
    {"backbone.embeddings.weight", "vocab_size hidden_size"},
    {"backbone.norm_f.weight",     "hidden_size"},
    {"lm_head.weight",             "vocab_size hidden_size", ServerCut::kWhole, "head"},
    {".norm.weight",               "hidden_size"},
    {".mixer.q_proj.weight", "num_attention_heads*attention_width hidden_size", ServerCut::kRows,
     "attention"},
    {".mixer.k_proj.weight", "num_key_value_heads*attention_width hidden_size", ServerCut::kRows,
     "attention"},
    {".mixer.v_proj.weight", "num_key_value_heads*attention_width hidden_size", ServerCut::kRows,
     "attention"},
    {".mixer.o_proj.weight", "hidden_size num_attention_heads*attention_width",
     ServerCut::kColumns, "attention"},
    {".mixer.up_proj.weight",   "intermediate_size hidden_size", ServerCut::kRows, "mlp"},
    {".mixer.down_proj.weight", "hidden_size intermediate_size", ServerCut::kColumns, "mlp"},
    {".mixer.A_log",   "mamba_num_heads", ServerCut::kRows, "mamba"},
    {".mixer.D",       "mamba_num_heads", ServerCut::kRows, "mamba"},
    {".mixer.dt_bias", "mamba_num_heads", ServerCut::kRows, "mamba"},
    {".mixer.conv1d.weight",
     "mamba_num_heads*mamba_head_dim+2*n_groups*ssm_state_size 1 conv_kernel", ServerCut::kRows,
     "mamba"},
    {".mixer.conv1d.bias", "mamba_num_heads*mamba_head_dim+2*n_groups*ssm_state_size",
     ServerCut::kRows, "mamba use_conv_bias"},
    {".mixer.in_proj.weight",
     "2*mamba_num_heads*mamba_head_dim+2*n_groups*ssm_state_size+mamba_num_heads hidden_size",
     ServerCut::kRows, "mamba"},
    {".mixer.norm.weight",     "mamba_num_heads*mamba_head_dim", ServerCut::kRows, "mamba"},
    {".mixer.out_proj.weight", "hidden_size mamba_num_heads*mamba_head_dim", ServerCut::kColumns,
     "mamba"},
};

Result<uint64_t> nemotron_attention_width(const Fields& fields) {
  return fields.count(fields.said("head_dim") != nullptr ? "head_dim" : "attention_head_dim");
}

constexpr FieldValue kNemotronHFields[] = {
    {"vocab_size", "131072"},      {"hidden_size", "4096"},
    {"intermediate_size", "21504"}, {"num_hidden_layers", "52"},
    {"num_attention_heads", "32"}, {"num_key_value_heads", "8"},
    {"attention_width", "", nemotron_attention_width}, {"attention_head_dim", "128"},
    {"mamba_num_heads", "128"},    {"mamba_head_dim", "64"},
    {"n_groups", "8"},             {"ssm_state_size", "128"},
    {"conv_kernel", "4"},          {"use_conv_bias", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kNemotronHRules[] = {kNemotronHLayer};

}  // namespace

constinit const ParameterTable kNemotronHParameters{.architectures = "NemotronHForCausalLM",
                                                    .model_types = "nemotron_h",
                                                    .text = kNemotronHRules,
                                                    .defaults = kNemotronHFields,
                                                    .root = "backbone."};

}  // namespace ckpt
