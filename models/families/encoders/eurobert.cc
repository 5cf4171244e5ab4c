// EuroBERT computes embeddings with Llama's layers and no causal mask. The GGUF keeps the order of
// the rows of q and k.
//
// Sources: llama.cpp conversion/bert.py (EuroBertModel); transformers models/eurobert.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr KeyRule kEuroBertKeys[] = {
    {"attention.causal",  kBool, "false", kConstant},
    {"rope.scaling.type", kText, "none", kConstant},
    {"pooling_type",      kU32, "", kPooling},
};
constexpr ClassDefault kEuroBertDefaults[] = {
    {"hidden_size", "768"}, {"intermediate_size", "3072"}, {"num_attention_heads", "12"},
    rows::kAllKeyHeads, {"rms_norm_eps", "1e-5", kInKeys}, {"vocab_size", "128256"},
    {"max_position_embeddings", "8192", kInKeys}, {"num_hidden_layers", "12"},
    {"head_dim", "hidden_size/num_attention_heads"}, {"rope_theta", "10000", kInKeys},
};
// clang-format on

}  // namespace

const Family kEuroBert = {
    .name = "eurobert",
    .architectures = "EuroBertModel",
    .model_types = "eurobert",
    .names = {std::span(rows::kCommonNames).subspan(1)},  // no head
    .keys = kEuroBertKeys,
    .defaults = kEuroBertDefaults,
    .parameters = {std::span(rows::kFrame).first(2), std::span(rows::kFrame).subspan(3),  // no head
                   rows::kAttention, rows::kAttentionBias, rows::kMlp, rows::kMlpBias},
    .has_bare_names = true,
    .tokenizer = {.first_flags = "bos=false"},
};

}  // namespace ckpt
