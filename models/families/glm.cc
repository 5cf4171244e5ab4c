// GLM-4 9B in transformers' form. One matrix holds gate and up. Rotary embeddings apply to half of
// each head.
//
// Sources: llama.cpp conversion/chatglm.py (ChatGLMModel); transformers models/glm. llama.cpp's
// converter takes the context length and the epsilon from ChatGLM's fields (seq_length,
// layernorm_epsilon), even where this class has other fields for them.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kGlmMlp[] = {
    {".mlp.gate_up_proj.weight", "2*intermediate_size hidden_size", kRows},
    {".mlp.down_proj.weight",    "hidden_size intermediate_size", kColumns},
};
constexpr NameRule kGlmNames[] = {
    {"model.layers.{}.mlp.gate_up_proj", "blk.{}.ffn_up"},
};
constexpr auto kGlmKeys = spread([] { return std::to_array<KeyRule>({
    {"context_length",                   kU32, "seq_length", kNumber},
    {"{embedding,feed_forward}_length", kU32, "{hidden,intermediate}_size", kNumber},
    {"block_count",                      kU32, "", kBlockCount},
    {"attention.head_{count,count_kv}", kU32, "num_{attention,key_value}_heads", kNumber},
    {"attention.layer_norm_rms_epsilon", kF32, "layernorm_epsilon"},
    {"general.file_type",                kU32, "", kFileType},
    {"rope.dimension_count",             kU32, "0.5", kPartialRotary},
    {"tokenizer.ggml.add_bos_token",     kBool, "false", kConstant},
    {"rope.freq_base",                   kF32, "10000", kConstant},
}); });
constexpr ClassDefault kGlmDefaults[] = {
    {"seq_length", "hidden_size", kInShapes}, {"layernorm_epsilon", "1e-5", kInKeys},
    {"hidden_size", "4096"}, {"intermediate_size", "13696"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "2"}, {"head_dim", "128", kInShapes}, {"vocab_size", "151552"},
    {"num_hidden_layers", "40", kInShapes}, {"attention_bias", "1", kInShapes},
};
// clang-format on

}  // namespace

const Family kGlm = {
    .name = "chatglm",
    .architectures = "GlmForCausalLM",
    .model_types = "glm",
    .traits = {.text = {.set = {kActivationSilu}}},
    .names = {kGlmNames, rows::kCommonNames},
    .keys = kGlmKeys,
    .keys_around = {.has_common = false},
    .defaults = kGlmDefaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kQkvAttentionBias, kGlmMlp},
    .tokenizer = {.special_tokens = "eos=<|endoftext|> eot=<|user|> unk=<|endoftext|>"},
};

}  // namespace ckpt
