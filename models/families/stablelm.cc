// StableLM: norms with biases, a part of each head turned.
//
// Source: llama.cpp conversion/stablelm.py (StableLMModel); defaults: transformers
// models/stablelm/configuration_stablelm.py. The file says no rotary base. Norms of single heads
// (qk_layernorm, in StableLM 2 12B) are not converted: their tensors are unknown here.
//
// Shapes: transformers models/stablelm/{modeling,configuration}_stablelm.py.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kStableLmFrame[] = {
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"model.norm.weight",         "hidden_size"},
    {"model.norm.bias",           "hidden_size"},
    {"lm_head.weight",            "vocab_size hidden_size", ServerCut::kWhole, "head"},
    {".input_layernorm.weight",   "hidden_size"},
    {".input_layernorm.bias",     "hidden_size"},
    {".post_attention_layernorm.weight", "hidden_size", ServerCut::kWhole, "optional"},
    {".post_attention_layernorm.bias",   "hidden_size", ServerCut::kWhole, "optional"},
};
constexpr auto kStableLmBias = rows::under("use_qkv_bias", rows::kAllBias);
constexpr KeyRule kStableLmKeys[] = {
    {"context_length",          MetaType::kU32, "max_position_embeddings"},
    {"embedding_length",        MetaType::kU32, "hidden_size"},
    {"block_count",             MetaType::kU32, "", KeySource::kBlockCount},
    {"feed_forward_length",     MetaType::kU32, "intermediate_size"},
    {"rope.dimension_count",    MetaType::kU32, "0.25", KeySource::kPartialRotary},
    {"attention.head_count",    MetaType::kU32, "num_attention_heads"},
    {"attention.head_count_kv", MetaType::kU32, "num_key_value_heads"},
    {"use_parallel_residual",   MetaType::kBool, "use_parallel_residual"},
    {"attention.layer_norm_epsilon", MetaType::kF32, "layer_norm_eps norm_eps"},
    {"general.file_type",       MetaType::kU32, "", KeySource::kFileType},
};
constexpr ClassDefault kStableLmDefaults[] = {
    {"hidden_size", "2560"}, {"intermediate_size", "6912"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "32"}, {"layer_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "50304"},
    {"max_position_embeddings", "4096", kInKeys}, {"use_parallel_residual", "0", kInKeys},
    {"partial_rotary_factor", "0.25", kInKeys}, {"num_hidden_layers", "32", kInShapes},
    {"head_dim", "hidden_size/num_attention_heads", kInShapes},
};
// clang-format on

constexpr rows::Rules kStableLmRules[] = {kStableLmFrame, std::span(kStableLmBias).first(3),
                                          rows::kAttention, rows::kMlp};

}  // namespace

const Family kStableLm = {
    .name = "stablelm",
    .architectures = "StableLmForCausalLM",
    .model_types = "stablelm",
    .quirks =
        "ignores_parallel_residual ignores_layer_types natural_heads looks_up_scales"
        " tells:use_qkv_bias=attn_q.bias vllm_name:.q_proj=.qkv_proj"
        " vllm_name:.gate_proj=.gate_up_proj silent_joins:always sglang_plain_attention",
    .names = rows::kCommonLists,
    .keys = kStableLmKeys,
    .defaults = kStableLmDefaults,
    .parameters = kStableLmRules,
    .has_common_keys = false,
    .untold = "rope_theta (10000)",
};

}  // namespace ckpt
