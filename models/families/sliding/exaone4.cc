// EXAONE 4: norms behind attention and MLP, q and k normed, windows by layer_types.
//
// Sources: llama.cpp conversion/exaone.py (Exaone4Model); transformers models/exaone4, whose class
// fills in layer_types by sliding_window_pattern.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr KeyRule kExaone4Keys[] = {
    {"vocab_size",                       kU32, "vocab_size"},
    {"attention.sliding_window",         kU32, "sliding_window"},
    {"attention.sliding_window_pattern", kArray, "sliding_window", kSlidingLayers},
};
constexpr ClassDefault kExaone4Defaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "16384"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "32"}, {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "102400"},
    {"max_position_embeddings", "2048", kInKeys},
    rows::if_absent("sliding_window", "4096", kInKeys), {"num_hidden_layers", "32", kInShapes},
    rows::kHeadOfWidth,
};
// clang-format on

}  // namespace

const Family kExaone4 = {
    .name = "exaone4",
    .architectures = "Exaone4ForCausalLM",
    .model_types = "exaone4",
    .traits = {.text = {.set = {kActivationSilu, kAsksNothingOfRope, kBiasesInVllm}}},
    .names = {rows::kNormsBehindNames, rows::kCommonNames},
    .keys = kExaone4Keys,
    .defaults = kExaone4Defaults,
    .rope = {.has_factors = true},
    .parameters = {rows::kOuterFrame, rows::kNormsBehind, rows::kAttention, rows::kAttentionNorms,
                   rows::kAttentionBias,  // vLLM's alone
                   rows::kMlp, rows::kMlpBias},
    .windows = {.period = 4},
};

}  // namespace ckpt
