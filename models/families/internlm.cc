// InternLM 3 has Llama's layers. InternLM 2 has the same under other names, and stores queries,
// keys and values in one matrix: the rows of each head of keys follow those of its queries.
//
// Sources: llama.cpp conversion/internlm.py (InternLM2Model, InternLM3Model), which fills in no
// defaults of the classes; transformers models/internlm3; modeling_internlm{2,3}.py, published with
// the models.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kInternLm3QkvBias = rows::under("qkv_bias", rows::kAllBias);
constexpr auto kInternLm3Defaults = rows::in_shapes({
    {"vocab_size", "128512"}, {"hidden_size", "4096"}, {"intermediate_size", "10240"},
    {"num_hidden_layers", "48"}, {"num_attention_heads", "32"}, {"num_key_value_heads", "2"},
    {"head_dim", "128"},
});
constexpr auto kInternLm2Rows = spread([] { return std::to_array<ParameterRule>({
    {"model.tok_embeddings.weight", "vocab_size hidden_size"},
    {"model.norm.weight",           "hidden_size"},
    {"output.weight",               "vocab_size hidden_size", kWhole, "head"},
    {".{attention,ffn}_norm.weight", "hidden_size"},
    {".attention.wqkv.weight", "num_attention_heads*head_dim+2*num_key_value_heads*head_dim "
     "hidden_size", kRows},
    {".attention.wo.weight",        "hidden_size num_attention_heads*head_dim", kColumns},
    {".feed_forward.w1.weight",     "intermediate_size hidden_size", kRows},
    {".feed_forward.w2.weight",     "hidden_size intermediate_size", kColumns},
    {".feed_forward.w3.weight",     "intermediate_size hidden_size", kRows},
}); });
constexpr auto kInternLm2Names = spread([] { return std::to_array<NameRule>({
    {"model.tok_embeddings",                "token_embd"},
    {"model.norm",                          "output_norm"},
    {"output",                              "output"},
    {"model.layers.{}.{attention,ffn}_norm", "blk.{}.{attn,ffn}_norm"},
    {"model.layers.{}.attention.wqkv.weight", "blk.{}.attn_q.weight", kQkvOfGroups,
     Store::kByRules, "blk.{}.attn_k.weight blk.{}.attn_v.weight"},
    {"model.layers.{}.attention.wo",        "blk.{}.attn_output"},
    {"model.layers.{}.feed_forward.w{1,2,3}", "blk.{}.ffn_{gate,down,up}"},
}); });
constexpr auto kInternLm2Defaults = rows::in_shapes({
    {"vocab_size", "103168"}, {"hidden_size", "4096"}, {"intermediate_size", "11008"},
    {"num_hidden_layers", "32"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "num_attention_heads"}, rows::kHeadOfWidth,
});
// clang-format on

}  // namespace

const Family kInternLm3 = {
    .name = "llama",
    .architectures = "InternLM3ForCausalLM",
    .model_types = "internlm3",
    .traits = {.text = {.set = {kActivationSilu}}},
    .names = rows::kPairLists,
    .keys = rows::kLlamaKeys,
    .defaults = kInternLm3Defaults,
    .parameters = {rows::kFrame, rows::kAttention, std::span(kInternLm3QkvBias).first(3),
                   rows::kMlp},
    .tokenizer = {.piece_file = PieceFile::kRequired, .end_of_chat = "<|im_end|>"},
};

const Family kInternLm2 = {
    .name = "internlm2",
    .architectures = "InternLM2ForCausalLM",
    .model_types = "internlm2",
    .names = {kInternLm2Names},
    .defaults = kInternLm2Defaults,
    .parameters = {kInternLm2Rows},
    .tokenizer = {.piece_file = PieceFile::kRequired,
                  .keeps_added_texts = true,
                  .end_of_chat = "<|im_end|>",
                  .is_internlm2 = true},
};

}  // namespace ckpt
