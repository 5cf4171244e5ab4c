// ModernBERT is an encoder with rotary positions, windows and a gated MLP. Its first layer has no
// norm before attention.
//
// Sources: llama.cpp conversion/bert.py (ModernBertModel); transformers models/modernbert.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kModernBertRows[] = {
    {"embeddings.tok_embeddings.weight", "vocab_size hidden_size"},
    {"embeddings.norm.weight",           "hidden_size"},
    {"embeddings.norm.bias",             "hidden_size", kWhole, "norm_bias"},
    {"final_norm.weight",                "hidden_size"},
    {"final_norm.bias",                  "hidden_size", kWhole, "norm_bias"},
    {"head.dense.weight",                "hidden_size hidden_size", kWhole, "classifier"},
    {"head.dense.bias",                  "hidden_size", kWhole, "classifier classifier_bias"},
    {"head.norm.weight",                 "hidden_size", kWhole, "classifier"},
    {"head.norm.bias",                   "hidden_size", kWhole, "classifier norm_bias"},
    {".attn_norm.weight",                "hidden_size", kWhole, "optional"},
    {".attn_norm.bias",                  "hidden_size", kWhole, "optional norm_bias"},
    {".attn.Wqkv.weight",                "3*hidden_size hidden_size", kRows},
    {".attn.Wqkv.bias",                  "3*hidden_size", kRows, "attention_bias"},
    {".attn.Wo.weight",                  "hidden_size hidden_size", kColumns},
    {".attn.Wo.bias",                    "hidden_size", kWhole, "attention_bias"},
    {".mlp_norm.weight",                 "hidden_size"},
    {".mlp_norm.bias",                   "hidden_size", kWhole, "norm_bias"},
    {".mlp.Wi.weight",                   "2*intermediate_size hidden_size", kRows},
    {".mlp.Wi.bias",                     "2*intermediate_size", kRows, "mlp_bias"},
    {".mlp.Wo.weight",                   "hidden_size intermediate_size", kColumns},
    {".mlp.Wo.bias",                     "hidden_size", kWhole, "mlp_bias"},
};
constexpr auto kModernBertNames = spread([] { return std::to_array<NameRule>({
    {"embeddings.{tok_embeddings,norm}", "token_{embd,embd_norm}"},
    {"final_norm",                "output_norm"},
    {"head.dense",                "cls"},
    {"head.norm",                 "cls.norm"},
    {"layers.{}.attn_norm",       "blk.{}.attn_norm"},
    {"layers.{}.attn.{Wqkv,Wo}", "blk.{}.attn_{qkv,output}"},
    {"layers.{}.mlp_norm",        "blk.{}.ffn_norm"},
    {"layers.{}.mlp.W{i,o}", "blk.{}.ffn_{up,down}"},
}); });
constexpr KeyRule kModernBertKeys[] = {
    {"attention.sliding_window",         kU32, "local_attention"},
    {"attention.sliding_window_pattern", kU32, "global_attn_every_n_layers"},
    {"rope.scaling.type",                kText, "none", kConstant},
    {"vocab_size",                       kU32, "vocab_size"},
    {"hidden_activation",                kText, "gelu", kConstant},
    {"hidden_activation",                kText, "hidden_activation"},
};
constexpr ClassDefault kModernBertDefaults[] = {
    {"hidden_size", "768"}, {"intermediate_size", "1152"}, {"num_attention_heads", "12"},
    {"norm_eps", "1e-5", kInKeys}, {"vocab_size", "50368"}, {"local_attention", "128", kInKeys},
    {"max_position_embeddings", "8192", kInKeys}, {"num_hidden_layers", "22"},
    {"global_rope_theta", "160000", kInKeys}, {"local_rope_theta", "10000", kInKeys},
    rows::kLabelCount,
};
// clang-format on

}  // namespace

const Family kModernBert = {
    .name = "modern-bert",
    .architectures = "ModernBertModel ModernBertForMaskedLM ModernBertForSequenceClassification",
    .model_types = "modernbert",
    .activation = {"gelu", "hidden_activation"},
    .names = {rows::kClassifierNames, kModernBertNames},
    .keys = rows::kEncoderKeys,
    .keys_around = {.more = kModernBertKeys},
    .defaults = kModernBertDefaults,
    .rope = {.by_default =
                 R"({"full_attention": {}, "sliding_attention": {}})"},  // with global_rope_theta
    .parameters = {kModernBertRows, rows::kClassifierRows},
    .root = "",
    .prefixes = "model.",
    .tokenizer = {.first_flags = "bos=true eos=true sep=true"},
};

}  // namespace ckpt
