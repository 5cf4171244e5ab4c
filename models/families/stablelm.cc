// StableLM: norms with biases, a part of each head turned.
//
// Sources: llama.cpp conversion/stablelm.py (StableLMModel); transformers models/stablelm. The file
// says no rotary base. Norms of single heads (qk_layernorm, in StableLM 2 12B) are stacked.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kStableLmFrame = spread([] { return std::to_array<ParameterRule>({
    {"model.embed_tokens.weight",        "vocab_size hidden_size"},
    {"model.norm.{weight,bias}", "hidden_size"},
    {"lm_head.weight",                   "vocab_size hidden_size", kWhole, "head"},
    {".input_layernorm.{weight,bias}", "hidden_size"},
    {".post_attention_layernorm.{weight,bias}", "hidden_size", kWhole, "optional"},
}); });
constexpr ParameterRule kStableLmNorms[] = {  // one a head
    {".self_attn.q_layernorm.norms.{}.weight", "head_dim", kWhole,
     "qk_layernorm per:num_attention_heads"},
    {".self_attn.k_layernorm.norms.{}.weight", "head_dim", kWhole,
     "qk_layernorm per:num_key_value_heads"},
};
constexpr NameRule kStableLmNormNames[] = {
    {.from = "model.layers.{}.self_attn.q_layernorm.norms.{}.weight",
     .to = "blk.{}.attn_q_norm.weight", .change = kStacked, .parts = "num_attention_heads"},
    {.from = "model.layers.{}.self_attn.k_layernorm.norms.{}.weight",
     .to = "blk.{}.attn_k_norm.weight", .change = kStacked, .parts = "num_key_value_heads"},
};
constexpr auto kStableLmBias = rows::under("use_qkv_bias", rows::kAllBias);
constexpr auto kStableLmKeys = spread([] { return std::to_array<KeyRule>({
    {"context_length",               kU32, "max_position_embeddings"},
    {"embedding_length",             kU32, "hidden_size"},
    {"block_count",                  kU32, "", kBlockCount},
    {"feed_forward_length",          kU32, "intermediate_size"},
    {"rope.dimension_count",         kU32, "0.25", kPartialRotary},
    {"attention.head_{count,count_kv}", kU32, "num_{attention,key_value}_heads"},
    {"use_parallel_residual",        kBool, "use_parallel_residual"},
    {"attention.layer_norm_epsilon", kF32, "layer_norm_eps norm_eps"},
    {"general.file_type",            kU32, "", kFileType},
}); });
constexpr ClassDefault kStableLmDefaults[] = {
    {"hidden_size", "2560"}, {"intermediate_size", "6912"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "32"}, {"layer_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "50304"},
    {"max_position_embeddings", "4096", kInKeys}, {"use_parallel_residual", "0", kInKeys},
    {"partial_rotary_factor", "0.25", kInKeys}, {"num_hidden_layers", "32", kInShapes},
    rows::kHeadOfWidth,
};
// clang-format on

}  // namespace

const Family kStableLm = {
    .name = "stablelm",
    .architectures = "StableLmForCausalLM",
    .model_types = "stablelm",
    .traits = {.text = {.set = {kIgnoresParallelResidual},
                        .told_fields = {{"use_qkv_bias", "attn_q.bias"},
                                        {"qk_layernorm", "attn_q_norm.weight"}},
                        .only_in_transformers = {"_layernorm.norms."},
                        .vllm_names = {{".q_proj", ".qkv_proj"}, {".gate_proj", ".gate_up_proj"}}}},
    .names = {kStableLmNormNames, rows::kCommonNames},
    .keys = kStableLmKeys,
    .keys_around = {.has_common = false},
    .defaults = kStableLmDefaults,
    .parameters = {kStableLmFrame, std::span(kStableLmBias).first(3), kStableLmNorms,
                   rows::kAttention, rows::kMlp},
    .graph = {.absent_fields = "rope_theta (10000)"},
};

}  // namespace ckpt
