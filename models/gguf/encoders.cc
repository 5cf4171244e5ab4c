// Architectures of GGUF that make embeddings. Sources: llama.cpp v0.5.0 src/models/{bert,
// nomic-bert,jina-bert-v2,modern-bert,eurobert,gemma-embedding}.cpp.
#include "models/gguf/rows.h"

namespace ckpt::gguf_rows {
namespace {

// clang-format off
constexpr GgufRow kTypes[] = {{"token_types.weight", "embd types", "optional"}};
constexpr GgufRow kPositions[] = {{"position_embd.weight", "embd context"}};
constexpr GgufRow kBertRows[] = {
    {"token_embd.weight",                       "embd vocab"},
    {"token_embd_norm.{weight,bias}",           "embd"},
    {"blk.{}.{attn,layer}_output_norm.{weight,bias}", "embd"},
    {"blk.{}.ffn_down.weight",                  "ff embd"},
};
// Attention of the encoders whose projections have biases: all of these but Nomic BERT.
constexpr GgufRow kBiasedAttention[] = {
    {"blk.{}.attn_{q,k,v}",                     "embd embd v_gqa v_gqa", "biased"},
    {"blk.{}.attn_output.weight",               "embd embd"},
};
constexpr GgufRow kBertFeed[] = {
    {"blk.{}.attn_output.bias",                 "embd", "optional"},
    {"blk.{}.ffn_up.weight",                    "embd ff"},
    {"blk.{}.ffn_up.bias",                      "ff", "optional"},
    {"blk.{}.ffn_down.bias",                    "embd", "optional"},
};
constexpr GgufRow kGate[] = {{"blk.{}.ffn_gate.weight", "embd ff"}};
constexpr GgufRow kClassifier[] = {
    {"cls.weight",                              "embd embd", "optional"},
    {"cls.{bias,norm.weight}",                  "embd", "optional"},
    {"cls.output.weight",                       "embd labels", "optional"},
    {"cls.output.bias",                         "labels", "optional"},
};
// If there is no matrix for the gate, ffn_up holds the gate's rows, too.
constexpr GgufRow kJinaRows[] = {
    {"token_types.weight",                      "embd types"},
    {"cls.weight",                              "embd 1", "optional"},
    {"cls.bias",                                "1", "optional"},
    {"blk.{}.attn_{q,k}_norm.{weight,bias}",    "embd", "optional"},
    {"blk.{}.attn_norm_2.{weight,bias}",        "embd", "optional"},
    {"blk.{}.attn_output.bias",                 "embd"},
    {"blk.{}.ffn_gate.weight",                  "embd ff", "optional"},
    {"blk.{}.ffn_up.weight",                    "embd ff", "longer"},
    {"blk.{}.ffn_up.bias",                      "ff", "optional longer"},
    {"blk.{}.ffn_down.bias",                    "embd"},
};
// The first layer may lack a norm of its own, because token_embd_norm normalizes its input.
constexpr GgufRow kModernRows[] = {
    {"token_embd_norm.weight",                  "embd"},
    {"blk.{}.attn_norm.weight",                 "embd", "!first"},
    {"blk.{}.attn_norm.weight",                 "embd", "first optional"},
    {"blk.{}.attn_qkv.weight",                  "embd 3*embd"},
    {"blk.{}.attn_output.weight",               "embd embd"},
    {"blk.{}.ffn_norm.weight",                  "embd"},
};

constexpr std::string_view kBertNorm = "attention.layer_norm_epsilon!";

const GgufArchitecture kEncoders[] = {
    {.names = " bert ",
     .rows = {kBertRows, kBiasedAttention, kTypes, kPositions, kBertFeed, kClassifier},
     .norm = kBertNorm, .keys = "/tokenizer.ggml.token_type_count!"},
    {.names = " nomic-bert ", .rows = {kBertRows, kSquareAttention, kTypes, kBertFeed, kGate},
     .norm = kBertNorm, .keys = "/tokenizer.ggml.token_type_count!"},
    {.names = " jina-bert-v2 ", .rows = {kBertRows, kBiasedAttention, kJinaRows},
     .norm = kBertNorm},
    {.names = " modern-bert ", .rows = {kFrame, kModernRows, kFusedFeed, kClassifier},
     .norm = kBertNorm,
     .keys = "attention.sliding_window attention.sliding_window_pattern rope.freq_base_swa"
             " hidden_activation"},
    {.names = " eurobert ", .rows = {kFrame, kNorms, kSquareAttention, kDense}},
    {.names = " gemma-embedding ",
     .rows = {kFrame, kTiedHead, kDenseLayers, kNorms, kAttention, kHeadNorms, kOutputNorms,
              kDense},
     .keys = "attention.sliding_window! attention.sliding_window_pattern rope.freq_base_swa"
             " dense_2_feat_in dense_2_feat_out dense_3_feat_in dense_3_feat_out",
     .graph = "other_values", .sliding = Sliding::kAlways, .sliding_pattern = 6},
};
// clang-format on

}  // namespace

std::span<const GgufArchitecture> encoder_architectures() { return kEncoders; }

}  // namespace ckpt::gguf_rows
