// EXAONE 4: norms behind attention and MLP, q and k normed, windows by layer_types.
//
// Source: llama.cpp conversion/exaone.py (Exaone4Model); defaults: transformers
// models/exaone4/configuration_exaone4.py, which fills in layer_types by sliding_window_pattern.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kExaone4Names[] = {   // before the common rows: the first match wins
    {"model.layers.{}.post_attention_layernorm",   "blk.{}.post_attention_norm"},
    {"model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"},
};

constexpr KeyRule kExaone4Keys[] = {
    {"vocab_size",                       MetaType::kU32, "vocab_size"},
    {"attention.sliding_window",         MetaType::kU32, "sliding_window"},
    {"attention.sliding_window_pattern", MetaType::kArray, "sliding_window",
     KeySource::kSlidingLayers},
};

constexpr FieldDefault kExaone4Defaults[] = {
    {"hidden_size", 4096},       {"intermediate_size", 16384},
    {"num_attention_heads", 32}, {"num_key_value_heads", 32},
    {"rms_norm_eps", 1e-5},      {"rope_theta", 10000},
    {"vocab_size", 102400},      {"max_position_embeddings", 2048},
    {"sliding_window", 4096, "", "sliding_window"},
};
// clang-format on

constexpr std::span<const NameRule> kExaone4Only = kExaone4Names;
const std::span<const NameRule> kExaone4Lists[] = {kExaone4Only, kCommonNames};

}  // namespace

const Family kExaone4 = {
    .name = "exaone4",
    .architectures = "Exaone4ForCausalLM",
    .model_types = "exaone4",
    .names = kExaone4Lists,
    .keys = kExaone4Keys,
    .defaults = kExaone4Defaults,
    .parameters = &kExaone4Parameters,
    .has_rope_factors = true,
};

}  // namespace ckpt
