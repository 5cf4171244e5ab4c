// GPT-NeoX and Pythia.
//
// Source: transformers models/gpt_neox/{modeling,configuration}_gpt_neox.py. Tensors are called
// gpt_neox.* and not model.*.
#include "models/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kGptNeoxRows[] = {
    {"gpt_neox.embed_in.weight",         "vocab_size hidden_size"},
    {"gpt_neox.final_layer_norm.weight", "hidden_size"},
    {"gpt_neox.final_layer_norm.bias",   "hidden_size"},
    {"embed_out.weight",                 "vocab_size hidden_size", ServerCut::kWhole, "head"},
    {".input_layernorm.weight",          "hidden_size"},
    {".input_layernorm.bias",            "hidden_size"},
    {".post_attention_layernorm.weight", "hidden_size"},
    {".post_attention_layernorm.bias",   "hidden_size"},
    {".attention.query_key_value.weight", "3*hidden_size hidden_size", ServerCut::kRows},
    {".attention.query_key_value.bias",   "3*hidden_size", ServerCut::kRows, "attention_bias"},
    {".attention.dense.weight",           "hidden_size hidden_size", ServerCut::kColumns},
    {".attention.dense.bias",             "hidden_size", ServerCut::kWhole, "attention_bias"},
    {".mlp.dense_h_to_4h.weight", "intermediate_size hidden_size", ServerCut::kRows},
    {".mlp.dense_h_to_4h.bias",   "intermediate_size", ServerCut::kRows},
    {".mlp.dense_4h_to_h.weight", "hidden_size intermediate_size", ServerCut::kColumns},
    {".mlp.dense_4h_to_h.bias",   "hidden_size"},
};
constexpr FieldValue kGptNeoxFields[] = {
    {"vocab_size", "50432"},        {"hidden_size", "6144"},
    {"intermediate_size", "24576"}, {"num_hidden_layers", "44"},
    {"num_attention_heads", "64"},  {"attention_bias", "1"},
};
// clang-format on

constexpr std::span<const ParameterRule> kGptNeoxRules[] = {kGptNeoxRows};

}  // namespace

constinit const ParameterTable kGptNeoxParameters{.architectures = "GPTNeoXForCausalLM",
                                                  .model_types = "gpt_neox",
                                                  .text = kGptNeoxRules,
                                                  .defaults = kGptNeoxFields,
                                                  .root = "gpt_neox."};

}  // namespace ckpt
