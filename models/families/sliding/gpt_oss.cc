// gpt-oss: all layers have experts, stored [expert, in, out] with gate and up in turn, or as MXFP4
// with gate and up rows in turn.
//
// Sources: llama.cpp conversion/gpt_oss.py (GptOssModel); transformers models/gpt_oss.
// intermediate_size is that of an expert; biases of experts are matrices, one row an expert.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kGptOssLayer[] = {
    {".self_attn.sinks",            "num_attention_heads", kRows},
    {".mlp.router.weight",          "num_local_experts hidden_size"},
    {".mlp.router.bias",            "num_local_experts"},
    {".mlp.experts.gate_up_proj",   "num_local_experts hidden_size 2*intermediate_size", kColumns},
    {".mlp.experts.gate_up_proj_bias", "num_local_experts 2*intermediate_size", kColumns},
    {".mlp.experts.down_proj",      "num_local_experts intermediate_size hidden_size", kRows},
    {".mlp.experts.down_proj_bias", "num_local_experts hidden_size"},
};
constexpr NameRule kGptOssNames[] = {   // before the common rows: the first match wins
    {"model.layers.{}.post_attention_layernorm",   "blk.{}.post_attention_norm"},
    {"model.layers.{}.self_attn.sinks",            "blk.{}.attn_sinks.weight"},
    {"model.layers.{}.mlp.router",                 "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.mlp.experts.down_proj",      "blk.{}.ffn_down_exps.weight", kSwap},
    {"model.layers.{}.mlp.experts.down_proj_bias", "blk.{}.ffn_down_exps.bias"},
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight", kSwapPairs,
     Store::kByRules, "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.gate_up_proj_bias", "blk.{}.ffn_gate_exps.bias", kPairs,
     Store::kByRules, "blk.{}.ffn_up_exps.bias"},
};
constexpr KeyRule kGptOssKeys[] = {
    {"attention.sliding_window",   kU32, "sliding_window"},
    {"expert_feed_forward_length", kU32, "intermediate_size"},
};
constexpr ClassDefault kGptOssDefaults[] = {
    {"hidden_size", "2880"}, {"intermediate_size", "2880"}, {"num_attention_heads", "64"},
    rows::key_heads("8"), {"head_dim", "64"}, {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "150000", kInKeys}, {"vocab_size", "201088"}, {"num_local_experts", "128"},
    {"num_experts_per_tok", "4", kInKeys}, {"sliding_window", "128", kInKeys},
    {"max_position_embeddings", "131072", kInKeys}, {"num_hidden_layers", "36", kInShapes},
    {"attention_bias", "1", kInShapes},
};
// clang-format on

// openai-moe.cpp: a window in each layer of an even number.
void add_windows(const GraphConfig& made) {
  JsonValue types = JsonValue::array();
  for (uint64_t layer = 0; layer < made.layers; ++layer) {
    types.push_back(layer % 2 == 0 ? "sliding_attention" : "full_attention");
  }
  made.config["layer_types"] = std::move(types);
  if (made.rope.contains("rope_type")) made.rope["truncate"] = false;
}

}  // namespace

const Family kGptOss = {
    .name = "gpt-oss",
    .architectures = "GptOssForCausalLM",
    .model_types = "gpt_oss",
    .activation = {"swigluoai"},
    .traits = {.text = {.set = {kOwnRopeScaling, kYarnOfAnyType, kStackedExperts, kKeepsMxfp4,
                                kRankedVocabulary, kKeepsStacks},
                        .own_config = "GptOss"}},
    .names = {kGptOssNames, rows::kCommonNames},
    .keys = kGptOssKeys,
    .defaults = kGptOssDefaults,
    .rope = {.by_default =
                 R"({"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
            "truncate": false, "original_max_position_embeddings": 4096})",
             .keeps_null = true},
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, kGptOssLayer},
    .graph = {.constants = {{"swiglu_limit", "7.0"}},
              .add_fields = add_windows,
              .absent_fields =
                  "layer_types (sliding and full attention in turn), rope truncate (false)"},
    .windows = {.period = 2},
};

}  // namespace ckpt
