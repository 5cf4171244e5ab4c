// GLM 4 (0414): norms before and behind attention and MLP, gate and up in one.
//
// Source: llama.cpp conversion/glm.py (Glm4Model); defaults: transformers
// models/glm4/configuration_glm4.py.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kGlm4Names[] = {   // before the common rows: the first match wins
    {"model.layers.{}.post_self_attn_layernorm", "blk.{}.post_attention_norm"},
    {"model.layers.{}.post_mlp_layernorm",       "blk.{}.post_ffw_norm"},
    {"model.layers.{}.mlp.gate_up_proj",         "blk.{}.ffn_up"},
};

constexpr KeyRule kGlm4Keys[] = {
    {"rope.dimension_count", MetaType::kU32, "0.5", KeySource::kPartialRotary},
};

constexpr FieldDefault kGlm4Defaults[] = {
    {"hidden_size", 4096},       {"intermediate_size", 13696},
    {"num_attention_heads", 32}, {"num_key_value_heads", 2},
    {"head_dim", 128},           {"rms_norm_eps", 1.5625e-7},
    {"rope_theta", 10000},       {"vocab_size", 151552},
    {"max_position_embeddings", 131072},
};
// clang-format on

constexpr std::span<const NameRule> kGlm4Only = kGlm4Names;
const std::span<const NameRule> kGlm4Lists[] = {kGlm4Only, kCommonNames};

}  // namespace

const Family kGlm4 = {
    .name = "glm4",
    .architectures = "Glm4ForCausalLM",
    .model_types = "glm4",
    .names = kGlm4Lists,
    .keys = kGlm4Keys,
    .defaults = kGlm4Defaults,
    .parameters = &kGlm4Parameters,
    .tokenizer = {.special_tokens =
                      "eos=<|endoftext|> eot=<|user|> unk=<|endoftext|> bos=<|endoftext|>"},
};

}  // namespace ckpt
