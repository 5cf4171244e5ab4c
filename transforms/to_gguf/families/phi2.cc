// Phi-1, 1.5 and 2: one norm a layer, biases everywhere, the head's too.
//
// Source: llama.cpp conversion/phi.py (Phi2Model); defaults: transformers
// models/phi/configuration_phi.py. The file says no rotary base, heads of keys as many as there
// are of queries, and four times the width as the MLP's, whatever config.json says.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kPhi2Names[] = {   // before the common rows: the first match wins
    {"model.final_layernorm",            "output_norm"},
    {"model.layers.{}.self_attn.dense",  "blk.{}.attn_output"},
    {"model.layers.{}.mlp.fc1",          "blk.{}.ffn_up"},
    {"model.layers.{}.mlp.fc2",          "blk.{}.ffn_down"},
};

constexpr KeyRule kPhi2Keys[] = {
    {"context_length",          MetaType::kU32, "n_positions max_position_embeddings"},
    {"embedding_length",        MetaType::kU32, "hidden_size n_embd"},
    {"feed_forward_length",     MetaType::kU32, "4*hidden_size", KeySource::kNumber},
    {"block_count",             MetaType::kU32, "", KeySource::kBlockCount},
    {"attention.head_count",    MetaType::kU32, "num_attention_heads n_head"},
    {"attention.head_count_kv", MetaType::kU32, "num_attention_heads n_head"},
    {"attention.layer_norm_epsilon", MetaType::kF32, "layer_norm_epsilon layer_norm_eps"},
    {"rope.dimension_count",    MetaType::kU32, "", KeySource::kPartialHidden},
    {"general.file_type",       MetaType::kU32, "", KeySource::kFileType},
    {"tokenizer.ggml.add_bos_token", MetaType::kBool, "false", KeySource::kConstant},
};

constexpr FieldDefault kPhi2Defaults[] = {
    {"hidden_size", 2048},       {"intermediate_size", 8192},
    {"num_attention_heads", 32}, {"num_key_value_heads", 0, "num_attention_heads"},
    {"layer_norm_eps", 1e-5},    {"rope_theta", 10000},
    {"vocab_size", 51200},       {"max_position_embeddings", 2048},
    {"partial_rotary_factor", 0.5},
};
// clang-format on

constexpr std::span<const NameRule> kPhi2Only = kPhi2Names;
const std::span<const NameRule> kPhi2Lists[] = {kPhi2Only, kCommonNames};

}  // namespace

const Family kPhi2 = {
    .name = "phi2",
    .architectures = "PhiForCausalLM",
    .model_types = "phi",
    .names = kPhi2Lists,
    .keys = kPhi2Keys,
    .defaults = kPhi2Defaults,
    .parameters = &kPhi2Parameters,
    .has_common_keys = false,
};

}  // namespace ckpt
