// Hunyuan models have Llama's layers, with norms of queries and keys in addition. Models with
// experts have a shared MLP in addition.
//
// Sources: llama.cpp conversion/hunyuan.py (HunYuanModel, HunYuanMoEModel, HunyuanVLTextModel);
// transformers models/{hunyuan_v1_dense,hunyuan_v1_moe,hunyuan_vl}. Fields of the experts may be
// lists with the same number for each layer.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kHunyuanNorms = spread([] { return std::to_array<ParameterRule>({
    {".self_attn.{query,key}_layernorm.weight", "head_dim"},
}); });
constexpr auto kHunyuanNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.self_attn.{query,key}_layernorm", "blk.{}.attn_{q,k}_norm"},
}); });
constexpr KeyRule kHunyuanKeys[] = {
    {"rope.freq_base", kF32, "50", kAlphaRope},
};
constexpr KeyRule kHunyuanVlKeys[] = {
    {"expert_count",   kU32, "", kUnlessOne},  // released configurations have one
    {"rope.freq_base", kF32, "50", kAlphaRope},
    {"rope.freq_base", kF32, "", kXdRope},
};
constexpr auto kHunyuanExperts = spread([] { return std::to_array<ParameterRule>({
    {".mlp.gate.wg.weight",              "num_experts hidden_size"},
    {".mlp.shared_mlp.{gate,up}_proj.weight", "intermediate_size hidden_size", kRows},
    {".mlp.shared_mlp.down_proj.weight", "hidden_size intermediate_size", kColumns},
}); });
constexpr auto kHunyuanExpertNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.mlp.gate.wg",              "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.mlp.shared_mlp.{gate,up,down}_proj", "blk.{}.ffn_{gate,up,down}_shexp"},
}); });
constexpr auto kHunyuanMoeKeys = spread([] { return std::to_array<KeyRule>({
    {"expert_shared_feed_forward_length", kU32, "intermediate_size", kNumber},
    {"expert_{feed_forward_length,used_count}", kU32, "moe_{intermediate_size,topk}", kNumber},
    {"expert_shared_count",               kU32, "num_shared_expert", kNumber},
    {"rope.freq_base",                    kF32, "1000", kAlphaRope},
}); });
constexpr ClassDefault kHunyuanDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "11008"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "290943"}, {"max_position_embeddings", "2048", kInKeys},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth,
};
constexpr ClassDefault kHunyuanMoeDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "11008"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "290943"}, {"max_position_embeddings", "2048", kInKeys},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth, {"num_experts", "1"},
    {"moe_intermediate_size", "intermediate_size", kInShapes},
    {"num_shared_expert", "1", kInShapes}, {"moe_topk", "1", kInShapes}, rows::kAllSparse,
};
// clang-format on

}  // namespace

const Family kHunyuanDense = {
    .name = "hunyuan-dense",
    .architectures = "HunYuanDenseV1ForCausalLM",
    .model_types = "hunyuan_v1_dense",
    .names = {kHunyuanNames, rows::kCommonNames},
    .keys = kHunyuanKeys,
    .defaults = kHunyuanDefaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, kHunyuanNorms, rows::kMlp},
    .head = {.is_dropped_if_tied = true},
    .tokenizer = {.ends_by_generation = true},
};

const Family kHunyuanVl = {
    .name = "hunyuan_vl",
    .architectures = "HunYuanVLForConditionalGeneration",
    .model_types = "hunyuan_vl_text hunyuan_vl",
    .names = {kHunyuanNames, rows::kCommonNames},
    .keys = kHunyuanVlKeys,
    .defaults = kHunyuanDefaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, kHunyuanNorms, rows::kMlp},
    .head = {.is_dropped_if_tied = true},
    .tokenizer = {.ends_by_generation = true},
};

const Family kHunyuanMoe = {
    .name = "hunyuan-moe",
    .architectures = "HunYuanMoEV1ForCausalLM",
    .model_types = "hunyuan_v1_moe",
    .names = {kHunyuanNames, kHunyuanExpertNames, rows::kExpertNames, rows::kCommonNames},
    .keys = kHunyuanMoeKeys,
    .defaults = kHunyuanMoeDefaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, kHunyuanNorms,
                   rows::kExpertProjections, kHunyuanExperts},
    .head = {.is_dropped_if_tied = true},
    .tokenizer = {.ranks = "hunyuan",
                  .ranks_file = "hy.tiktoken",
                  .ranked_specials = "<|endoftext|> <|startoftext|> <|bos|> <|eos|> <|pad|>",
                  .bos_id = 127959},
};

}  // namespace ckpt
