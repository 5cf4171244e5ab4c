// StarCoder2: biases everywhere, the norms' too; an MLP of two.
//
// Source: llama.cpp conversion/starcoder.py (StarCoder2Model); defaults: transformers
// models/starcoder2/configuration_starcoder2.py. The file says nothing of windows.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kStarcoder2Names[] = {   // before the common rows: the first match wins
    {"model.layers.{}.mlp.c_fc",   "blk.{}.ffn_up"},
    {"model.layers.{}.mlp.c_proj", "blk.{}.ffn_down"},
};

constexpr FieldDefault kStarcoder2Defaults[] = {
    {"hidden_size", 3072},       {"intermediate_size", 12288},
    {"num_attention_heads", 24}, {"num_key_value_heads", 2},
    {"norm_epsilon", 1e-5},      {"rope_theta", 10000},
    {"vocab_size", 49152},       {"max_position_embeddings", 4096},
};
// clang-format on

constexpr std::span<const NameRule> kStarcoder2Only = kStarcoder2Names;
const std::span<const NameRule> kStarcoder2Lists[] = {kStarcoder2Only, kCommonNames};

}  // namespace

const Family kStarcoder2 = {
    .name = "starcoder2",
    .architectures = "Starcoder2ForCausalLM",
    .model_types = "starcoder2",
    .names = kStarcoder2Lists,
    .keys = {},
    .defaults = kStarcoder2Defaults,
    .parameters = &kStarcoder2Parameters,
};

}  // namespace ckpt
