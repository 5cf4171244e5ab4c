// GPT-NeoX and Pythia: q, k and v in one tensor, by head in the folder, one behind another in GGUF.
//
// Sources: llama.cpp conversion/gptneox.py (GPTNeoXModel); transformers models/gpt_neox. The file
// says neither its type nor a rotary base. Tensors are called gpt_neox.* and not model.*.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kGptNeoxRows = spread([] { return std::to_array<ParameterRule>({
    {"gpt_neox.embed_in.weight",          "vocab_size hidden_size"},
    {"gpt_neox.final_layer_norm.{weight,bias}", "hidden_size"},
    {"embed_out.weight",                  "vocab_size hidden_size", kWhole, "head"},
    {".input_layernorm.{weight,bias}", "hidden_size"},
    {".post_attention_layernorm.{weight,bias}", "hidden_size"},
    {".attention.query_key_value.weight", "3*hidden_size hidden_size", kRows},
    {".attention.query_key_value.bias",   "3*hidden_size", kRows, "attention_bias"},
    {".attention.dense.weight",           "hidden_size hidden_size", kColumns},
    {".attention.dense.bias",             "hidden_size", kWhole, "attention_bias"},
    {".mlp.dense_h_to_4h.weight",         "intermediate_size hidden_size", kRows},
    {".mlp.dense_h_to_4h.bias",           "intermediate_size", kRows},
    {".mlp.dense_4h_to_h.weight",         "hidden_size intermediate_size", kColumns},
    {".mlp.dense_4h_to_h.bias",           "hidden_size"},
}); });
constexpr auto kGptNeoxNames = spread([] { return std::to_array<NameRule>({
    {"gpt_neox.embed_in",                            "token_embd"},
    {"embed_out",                                    "output"},
    {"gpt_neox.final_layer_norm",                    "output_norm"},
    {"gpt_neox.layers.{}.{input,post_attention}_layernorm", "blk.{}.{attn,ffn}_norm"},
    {"gpt_neox.layers.{}.attention.query_key_value", "blk.{}.attn_qkv", kQkvOfHeads},
    {"gpt_neox.layers.{}.attention.dense",           "blk.{}.attn_output"},
    {"gpt_neox.layers.{}.mlp.dense_{h_to_4h,4h_to_h}", "blk.{}.ffn_{up,down}"},
}); });
constexpr KeyRule kGptNeoxKeys[] = {
    {"context_length",               kU32, "max_position_embeddings"},
    {"embedding_length",             kU32, "hidden_size"},
    {"block_count",                  kU32, "", kBlockCount},
    {"feed_forward_length",          kU32, "intermediate_size"},
    {"rope.dimension_count",         kU32, "rotary_pct", kRotaryPart},
    {"attention.head_count",         kU32, "num_attention_heads"},
    {"use_parallel_residual",        kBool, "use_parallel_residual"},
    {"attention.layer_norm_epsilon", kF32, "layer_norm_eps"},
};
constexpr ClassDefault kGptNeoxDefaults[] = {
    {"hidden_size", "6144"}, {"intermediate_size", "24576"}, {"num_attention_heads", "64"},
    {"layer_norm_eps", "1e-5", kInKeys}, {"vocab_size", "50432"},
    {"max_position_embeddings", "2048", kInKeys}, {"rotary_pct", "0.25", kInKeys},
    {"use_parallel_residual", "1", kInKeys}, {"num_hidden_layers", "44", kInShapes},
    {"attention_bias", "1", kInShapes},
};
// clang-format on

}  // namespace

const Family kGptNeox = {
    .name = "gptneox",
    .architectures = "GPTNeoXForCausalLM",
    .model_types = "gpt_neox",
    .activation = {"gelu", "hidden_act"},
    .traits = {.text = {.set = {kActivationAny, kIgnoresPartialRotaryFactor, kOtherTheta,
                                kNoHeadDim},
                        .own_config = "GPTNeoX",
                        .told_fields = {{"attention_bias", "attn_qkv.bias"}},
                        .vllm_names = {{"embed_out", "lm_head"}}}},
    .names = {kGptNeoxNames},
    .keys = kGptNeoxKeys,
    .keys_around = {.has_common = false},
    .defaults = kGptNeoxDefaults,
    .parameters = {kGptNeoxRows},
    .root = "gpt_neox.",
};

}  // namespace ckpt
