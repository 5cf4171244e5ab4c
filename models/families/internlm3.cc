// InternLM 3 has Llama's layers.
//
// Sources: llama.cpp conversion/internlm.py (InternLM3Model), which fills in no defaults of the
// class; transformers models/internlm3; modeling_internlm3.py, published with the models.
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
// clang-format on

}  // namespace

const Family kInternLm3 = {
    .name = "llama",
    .architectures = "InternLM3ForCausalLM",
    .model_types = "internlm3",
    .quirks = "activation:silu",
    .names = rows::kPairLists,
    .keys = rows::kLlamaKeys,
    .defaults = kInternLm3Defaults,
    .parameters = {rows::kFrame, rows::kAttention, std::span(kInternLm3QkvBias).first(3),
                   rows::kMlp},
    .tokenizer = {.piece_file = PieceFile::kRequired, .end_of_chat = "<|im_end|>"},
};

}  // namespace ckpt
