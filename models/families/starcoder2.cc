// StarCoder2: biases everywhere, the norms' too; an MLP of two.
//
// Sources: llama.cpp conversion/starcoder.py (StarCoder2Model); transformers models/starcoder2. The
// file says nothing of windows.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kStarcoder2Rows = spread([] { return std::to_array<ParameterRule>({
    {"model.norm.bias",                "hidden_size"},
    {".{input,post_attention}_layernorm.bias", "hidden_size"},
    {".self_attn.q_proj.bias",         "num_attention_heads*head_dim", kRows, "use_bias"},
    {".self_attn.{k,v}_proj.bias", "num_key_value_heads*head_dim", kRows, "use_bias"},
    {".self_attn.o_proj.bias",         "hidden_size", kWhole, "use_bias"},
    {".mlp.c_fc.weight",               "intermediate_size hidden_size", kRows},
    {".mlp.c_fc.bias",                 "intermediate_size", kRows, "use_bias"},
    {".mlp.c_proj.weight",             "hidden_size intermediate_size", kColumns},
    {".mlp.c_proj.bias",               "hidden_size", kWhole, "use_bias"},
}); });
constexpr auto kStarcoder2Names = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.mlp.c_{fc,proj}", "blk.{}.ffn_{up,down}"},
}); });
constexpr ClassDefault kStarcoder2Defaults[] = {
    {"hidden_size", "3072"}, {"intermediate_size", "12288"}, {"num_attention_heads", "24"},
    {"num_key_value_heads", "2"}, {"norm_epsilon", "1e-5", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "49152"},
    {"max_position_embeddings", "4096", kInKeys}, {"num_hidden_layers", "30", kInShapes},
    rows::kHeadOfWidth, {"use_bias", "1", kInShapes}, {"tie_word_embeddings", "1", kInShapes},
};
// clang-format on

}  // namespace

const Family kStarcoder2 = {
    .name = "starcoder2",
    .architectures = "Starcoder2ForCausalLM",
    .model_types = "starcoder2",
    .activation = {"gelu_pytorch_tanh", "hidden_act"},
    .traits = {.text = {.set = {kActivationAny, kThetaOutside},
                        .told_fields = {{"use_bias", "attn_q.bias"}},
                        .vllm_names = {{".q_proj", ".qkv_proj"}}}},
    .names = {kStarcoder2Names, rows::kCommonNames},
    .defaults = kStarcoder2Defaults,
    .parameters = {rows::kFrame, rows::kAttention, kStarcoder2Rows},
    .graph = {.absent_fields = "sliding_window (none)"},
};

}  // namespace ckpt
