// Hunyuan dense models have Llama's layers, and normalize queries and keys in addition.
//
// Sources: llama.cpp conversion/hunyuan.py (HunYuanModel); transformers models/hunyuan_v1_dense.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kHunyuanNorms[] = {
    {".self_attn.query_layernorm.weight", "head_dim"},
    {".self_attn.key_layernorm.weight",   "head_dim"},
};
constexpr NameRule kHunyuanNames[] = {
    {"model.layers.{}.self_attn.query_layernorm", "blk.{}.attn_q_norm"},
    {"model.layers.{}.self_attn.key_layernorm",   "blk.{}.attn_k_norm"},
};
constexpr KeyRule kHunyuanKeys[] = {
    {"rope.freq_base", kF32, "", kAlphaRope},
};
constexpr ClassDefault kHunyuanDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "11008"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "290943"}, {"max_position_embeddings", "2048", kInKeys},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth,
};
// clang-format on

}  // namespace

const Family kHunyuanDense = {
    .name = "hunyuan-dense",
    .architectures = "HunYuanDenseV1ForCausalLM",
    .model_types = "hunyuan_v1_dense",
    .quirks = "skips_tied_head",
    .names = {kHunyuanNames, rows::kCommonNames},
    .keys = kHunyuanKeys,
    .defaults = kHunyuanDefaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, kHunyuanNorms,
                   rows::kMlp},
    .drops_tied_head = true,
    .tokenizer = {.ends_by_generation = true},
};

}  // namespace ckpt
