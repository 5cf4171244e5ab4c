// LFM2: short convolutions between layers of attention; experts from a layer on.
//
// Sources: llama.cpp conversion/lfm2.py (LFM2Model, LFM2MoeModel); transformers models/lfm2{,_moe}.
// Without experts, the width of the feed-forward layers is computed from intermediate_size and the
// block_* fields, not said.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kLfm2Layers = spread([] { return std::to_array<ParameterRule>({
    {"model.embed_tokens.weight",   "vocab_size hidden_size"},
    {"model.embedding_norm.weight", "hidden_size"},
    {"lm_head.weight",              "vocab_size hidden_size", kWhole, "head"},
    {".{operator,ffn}_norm.weight", "hidden_size"},
    {".feed_forward.w1.weight",     "feed_forward hidden_size", kRows, "dense"},
    {".feed_forward.w2.weight",     "hidden_size feed_forward", kColumns, "dense"},
    {".feed_forward.w3.weight",     "feed_forward hidden_size", kRows, "dense"},
    {".conv.conv.weight",           "hidden_size 1 conv_L_cache", kRows, "conv"},
    {".conv.in_proj.weight",        "3*hidden_size hidden_size", kRows, "conv"},
    {".conv.out_proj.weight",       "hidden_size hidden_size", kColumns, "conv"},
    {".conv.conv.bias",             "hidden_size", kRows, "conv conv_bias"},
    {".conv.in_proj.bias",          "3*hidden_size", kRows, "conv conv_bias"},
    {".conv.out_proj.bias",         "hidden_size", kWhole, "conv conv_bias"},
}); });
constexpr rows::Rules kLfm2Qkv = std::span(rows::kFullAttention).first(3);
constexpr auto kLfm2Attention = spread([] { return rows::under("full_attention", {
    {".self_attn.out_proj.weight",    "hidden_size num_attention_heads*head_dim", kColumns},
    {".self_attn.{q,k}_layernorm.weight", "head_dim"},
}); });
constexpr ParameterRule kLfm2Experts[] = {
    {".feed_forward.gate.weight",          "num_experts hidden_size", kWhole, "sparse"},
    {".feed_forward.expert_bias",          "num_experts", kWhole, "sparse use_expert_bias"},
    {".feed_forward.experts.{}.w1.weight", "moe_intermediate_size hidden_size", kRows, "sparse"},
    {".feed_forward.experts.{}.w2.weight", "hidden_size moe_intermediate_size", kColumns, "sparse"},
    {".feed_forward.experts.{}.w3.weight", "moe_intermediate_size hidden_size", kRows, "sparse"},
};
// Two thirds of the declared size, times a factor, rounded up to whole multiples.
Result<uint64_t> lfm2_feed_forward(const Fields& fields) {
  const bool is_block = fields.declared("block_ff_dim") != nullptr;
  CKPT_ASSIGN(uint64_t width, fields.count(is_block ? "block_ff_dim" : "intermediate_size"));
  if (!fields.is_true("block_auto_adjust_ff_dim")) return width;
  width = width * 2 / 3;
  if (const JsonValue* factor = fields.declared("block_ffn_dim_multiplier")) {
    const auto value = number(*factor);
    if (!value || !(*value > 0) || *value > 1e6) {
      return corrupt("config.json: block_ffn_dim_multiplier is {}; expected a number above 0",
                  factor->dump());
    }
    width = static_cast<uint64_t>(*value * static_cast<double>(width));
  }
  CKPT_ASSIGN(const uint64_t multiple, fields.count("block_multiple_of"));
  if (multiple == 0) return corrupt("config.json: block_multiple_of is 0");
  return (width + multiple - 1) / multiple * multiple;
}
constexpr auto kLfm2Names = spread([] { return std::to_array<NameRule>({
    {"model.embedding_norm",                  "token_embd_norm"},
    {"model.layers.{}.{operator,ffn}_norm", "blk.{}.{attn,ffn}_norm"},
    {"model.layers.{}.conv.conv",             "blk.{}.shortconv.conv", kSqueeze, Store::kF32},
    {"model.layers.{}.conv.{in,out}_proj", "blk.{}.shortconv.{in,out}_proj"},
    {"model.layers.{}.feed_forward.w{1,2,3}", "blk.{}.ffn_{gate,down,up}"},
    {"model.layers.{}.self_attn.{out_proj,q_layernorm,k_layernorm}",
     "blk.{}.attn_{output,q_norm,k_norm}"},
}); });
constexpr auto kLfm2MoeNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.feed_forward.gate",          "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.feed_forward.expert_bias",   "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.feed_forward.experts.{}.w{1,2,3}", "blk.{}.ffn_{gate,down,up}_exps", kExpert},
}); });
constexpr KeyRule kLfm2Keys[] = {
    {"attention.head_count_kv",          kArray, "num_key_value_heads", kAttentionHeads},
    {"vocab_size",                       kU32, "vocab_size"},
    {"shortconv.l_cache",                kU32, "conv_L_cache"},
    {"attention.layer_norm_rms_epsilon", kF32, "norm_eps"},
    {"feed_forward_length",              kU32, "feed_forward", kNumber},
};
constexpr KeyRule kLfm2MoeKeys[] = {
    {"attention.head_count_kv",    kArray, "num_key_value_heads", kAttentionHeads},
    {"expert_feed_forward_length", kU32, "moe_intermediate_size"},
    {"leading_dense_block_count",  kU32, "num_dense_layers", kNumber},
    {"expert_gating_func",         kU32, "2", kNumber},  // sigmoid
    {"vocab_size",                 kU32, "vocab_size"},
    {"shortconv.l_cache",          kU32, "conv_L_cache"},
};
constexpr ClassDefault kLfm2Defaults[] = {
    {"hidden_size", "2560"}, {"intermediate_size", "block_ff_dim", kInKeys},
    {"intermediate_size", "12288"}, {"num_attention_heads", "32"}, {"num_key_value_heads", "8"},
    {"norm_eps", "1e-5", kInKeys}, {"rope_theta", "1000000", kInKeys}, {"vocab_size", "65536"},
    {"max_position_embeddings", "128000", kInKeys}, {"conv_L_cache", "3"},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth,
    {"tie_word_embeddings", "1", kInShapes}, {"block_multiple_of", "256", kInShapes},
    {"block_auto_adjust_ff_dim", "1", kInShapes},
    {.field = "feed_forward", .value = "", .read_by = kInShapes, .compute = lfm2_feed_forward},
};
constexpr ClassDefault kLfm2MoeDefaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "7168"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "8"}, {"norm_eps", "1e-5", kInKeys}, {"rope_theta", "1000000", kInKeys},
    {"vocab_size", "65536"}, {"max_position_embeddings", "128000", kInKeys}, {"conv_L_cache", "3"},
    {"moe_intermediate_size", "1792"}, {"num_experts", "32"}, {"num_experts_per_tok", "4", kInKeys},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth,
    {"tie_word_embeddings", "1", kInShapes}, {"num_dense_layers", "2", kInShapes},
    {"use_expert_bias", "1", kInShapes}, {"first_k_dense_replace", "num_dense_layers", kInShapes},
    rows::kAllSparse, {"feed_forward", "intermediate_size", kInShapes},
};
// clang-format on

}  // namespace

const Family kLfm2 = {
    .name = "lfm2",
    .architectures = "Lfm2ForCausalLM LFM2ForCausalLM",
    .model_types = "lfm2",
    .activation = {"silu"},
    .traits = {.text = {.set = {kAsksNothingOfRope}}},
    .names = {kLfm2Names, rows::kCommonNames},
    .keys = kLfm2Keys,
    .defaults = kLfm2Defaults,
    .parameters = {kLfm2Layers, kLfm2Qkv, kLfm2Attention},
    .graph = {.constants = {{"block_auto_adjust_ff_dim", "false"}}},
};

const Family kLfm2Moe = {
    .name = "lfm2moe",
    .architectures = "Lfm2MoeForCausalLM",
    .model_types = "lfm2_moe",
    .activation = {"silu"},
    .traits = {.text = {.set = {kAsksNothingOfRope},
                        .told_fields = {{"use_expert_bias", "exp_probs_b.bias"}}}},
    .names = {kLfm2Names, kLfm2MoeNames, rows::kCommonNames},
    .keys = kLfm2MoeKeys,
    .defaults = kLfm2MoeDefaults,
    .parameters = {kLfm2Layers, kLfm2Qkv, kLfm2Attention, kLfm2Experts},
    .graph = {.constants = {{"norm_topk_prob", "true"}},
              .absent_fields = "routed_scaling_factor (1, as llama.cpp computes such files)"},
};

}  // namespace ckpt
