// LFM2: a layer has attention or a short convolution; experts from a layer on.
//
// Source: transformers models/lfm2{,_moe}/{modeling,configuration}_lfm2{,_moe}.py. Without experts,
// intermediate_size is what the width of the feed-forward layers is computed from.
#include "models/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kLfm2Layers[] = {
    {"model.embed_tokens.weight",   "vocab_size hidden_size"},
    {"model.embedding_norm.weight", "hidden_size"},
    {"lm_head.weight",              "vocab_size hidden_size", ServerCut::kWhole, "head"},
    {".operator_norm.weight",       "hidden_size"},
    {".ffn_norm.weight",            "hidden_size"},
    {".feed_forward.w1.weight", "feed_forward hidden_size", ServerCut::kRows, "dense"},
    {".feed_forward.w2.weight", "hidden_size feed_forward", ServerCut::kColumns, "dense"},
    {".feed_forward.w3.weight", "feed_forward hidden_size", ServerCut::kRows, "dense"},
    {".conv.conv.weight",     "hidden_size 1 conv_L_cache", ServerCut::kRows, "conv"},
    {".conv.in_proj.weight",  "3*hidden_size hidden_size", ServerCut::kRows, "conv"},
    {".conv.out_proj.weight", "hidden_size hidden_size", ServerCut::kColumns, "conv"},
    {".conv.conv.bias",       "hidden_size", ServerCut::kRows, "conv conv_bias"},
    {".conv.in_proj.bias",    "3*hidden_size", ServerCut::kRows, "conv conv_bias"},
    {".conv.out_proj.bias",   "hidden_size", ServerCut::kWhole, "conv conv_bias"},
    {".self_attn.q_proj.weight", "num_attention_heads*head_dim hidden_size", ServerCut::kRows,
     "full_attention"},
    {".self_attn.k_proj.weight", "num_key_value_heads*head_dim hidden_size", ServerCut::kRows,
     "full_attention"},
    {".self_attn.v_proj.weight", "num_key_value_heads*head_dim hidden_size", ServerCut::kRows,
     "full_attention"},
    {".self_attn.out_proj.weight", "hidden_size num_attention_heads*head_dim",
     ServerCut::kColumns, "full_attention"},
    {".self_attn.q_layernorm.weight", "head_dim", ServerCut::kWhole, "full_attention"},
    {".self_attn.k_layernorm.weight", "head_dim", ServerCut::kWhole, "full_attention"},
};

constexpr ParameterRule kLfm2Experts[] = {
    {".feed_forward.gate.weight", "num_experts hidden_size", ServerCut::kWhole, "sparse"},
    {".feed_forward.expert_bias", "num_experts", ServerCut::kWhole, "sparse use_expert_bias"},
    {".feed_forward.experts.{}.w1.weight", "moe_intermediate_size hidden_size", ServerCut::kRows,
     "sparse"},
    {".feed_forward.experts.{}.w2.weight", "hidden_size moe_intermediate_size",
     ServerCut::kColumns, "sparse"},
    {".feed_forward.experts.{}.w3.weight", "moe_intermediate_size hidden_size", ServerCut::kRows,
     "sparse"},
};

// Two thirds of what is said, times a factor, rounded up to whole multiples.
Result<uint64_t> lfm2_feed_forward(const Fields& fields) {
  const bool is_block = fields.said("block_ff_dim") != nullptr;
  CKPT_ASSIGN(uint64_t width, fields.count(is_block ? "block_ff_dim" : "intermediate_size"));
  if (!fields.is_true("block_auto_adjust_ff_dim")) return width;
  width = width * 2 / 3;
  if (const JsonValue* factor = fields.said("block_ffn_dim_multiplier")) {
    const auto value = number(*factor);
    if (!value || !(*value > 0) || *value > 1e6) {
      return fail(ErrorCode::kCorrupt,
                  "config.json: block_ffn_dim_multiplier is {}; expected a number above 0",
                  factor->dump());
    }
    width = static_cast<uint64_t>(*value * static_cast<double>(width));
  }
  CKPT_ASSIGN(const uint64_t multiple, fields.count("block_multiple_of"));
  if (multiple == 0) return fail(ErrorCode::kCorrupt, "config.json: block_multiple_of is 0");
  return (width + multiple - 1) / multiple * multiple;
}

constexpr FieldValue kLfm2Fields[] = {
    {"vocab_size", "65536"},        {"hidden_size", "2560"},
    {"intermediate_size", "12288"}, {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "8"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"conv_L_cache", "3"},          {"tie_word_embeddings", "1"},
    {"block_multiple_of", "256"},   {"block_auto_adjust_ff_dim", "1"},
    {"feed_forward", "", lfm2_feed_forward},
};
constexpr FieldValue kLfm2MoeFields[] = {
    {"vocab_size", "65536"},        {"hidden_size", "2048"},
    {"intermediate_size", "7168"},  {"num_hidden_layers", "32"},
    {"num_attention_heads", "32"},  {"num_key_value_heads", "8"},
    {"head_dim", "hidden_size/num_attention_heads"},
    {"conv_L_cache", "3"},          {"tie_word_embeddings", "1"},
    {"num_experts", "32"},          {"moe_intermediate_size", "1792"},
    {"num_dense_layers", "2"},      {"use_expert_bias", "1"},
    {"first_k_dense_replace", "num_dense_layers"},
    {"decoder_sparse_step", "1"},   {"feed_forward", "intermediate_size"},
};
// clang-format on

constexpr std::span<const ParameterRule> kLfm2Rules[] = {kLfm2Layers};
constexpr std::span<const ParameterRule> kLfm2MoeRules[] = {kLfm2Layers, kLfm2Experts};

}  // namespace

constinit const ParameterTable kLfm2Parameters{"Lfm2ForCausalLM LFM2ForCausalLM", "lfm2",
                                               kLfm2Rules, kLfm2Fields};
constinit const ParameterTable kLfm2MoeParameters{"Lfm2MoeForCausalLM", "lfm2_moe", kLfm2MoeRules,
                                                  kLfm2MoeFields};

}  // namespace ckpt
