// MiniCPM and MiniCPM4 have Llama's layers, and scale the embeddings, residuals and logits.
//
// Sources: llama.cpp conversion/minicpm.py (MiniCPMModel), which fills in no defaults of the class;
// modeling_minicpm.py and configuration_minicpm.py, published with the models.
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
    .rope = {.is_long = true},
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, rows::kMlp},
    .tokenizer = {.piece_file = PieceFile::kRequired},
};

}  // namespace ckpt
