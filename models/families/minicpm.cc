// MiniCPM and MiniCPM4: Llama's layers with scales of embedding, residuals and logits.
//
// Sources: llama.cpp conversion/minicpm.py (MiniCPMModel), which reads config.json as it stands;
// the class's own modeling_minicpm.py and configuration_minicpm.py.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr KeyRule kMiniCpmKeys[] = {
    {"embedding_scale", kF32, "scale_emb"},
    {"residual_scale",  kF32, "scale_depth", kByRootOfLayers},
    {"logit_scale",     kF32, "hidden_size/dim_model_base", kRatio},
};
constexpr auto kMiniCpmDefaults = rows::in_shapes({
    {"vocab_size", "32000"}, {"hidden_size", "4096"}, {"intermediate_size", "11008"},
    {"num_hidden_layers", "32"}, {"num_attention_heads", "32"}, rows::kAllKeyHeads,
    rows::kHeadOfWidth, {"tie_word_embeddings", "1"},
});
// clang-format on

}  // namespace

const Family kMiniCpm = {
    .name = "minicpm",
    .architectures = "MiniCPMForCausalLM",
    .model_types = "minicpm",
    .names = rows::kPairLists,
    .keys = kMiniCpmKeys,
    .defaults = kMiniCpmDefaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, rows::kMlp},
    .has_long_rope = true,
    .tokenizer = {.piece_file = PieceFile::kRequired},
};

}  // namespace ckpt
