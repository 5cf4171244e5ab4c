// OLMo, OLMoE, OLMo 2 and 3.
//
// Sources: llama.cpp conversion/olmo.py (OlmoModel, OlmoeModel, Olmo2Model); transformers
// models/olmo{,e,2,3}. OLMo's norms have no weights, and rows of q and k become pairs, their biases
// not; both it and OLMoE have one epsilon, whatever config.json says. OLMo 2 and 3 are one
// architecture in GGUF, OLMo 3 adds windows; both norms of a layer stand behind what they are named
// after, so nothing becomes ffn_norm.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kOlmoFrame[] = {
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"lm_head.weight",            "vocab_size hidden_size", kWhole, "head"},
};
constexpr NameRule kOlmoNames[] = {   // before the common rows: the first match wins
    {"model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight", kRopeQuery},
    {"model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight", kRopeKey},
};
constexpr KeyRule kOlmoKeys[] = {
    {"attention.layer_norm_epsilon", kF32, "1e-5", kConstant},
    {"attention.clamp_kqv",          kF32, "clip_qkv"},
};
constexpr KeyRule kOlmoeKeys[] = {
    {"attention.layer_norm_rms_epsilon", kF32, "1e-5", kConstant},
};
constexpr KeyRule kOlmo2Keys[] = {
    {"attention.sliding_window",         kU32, "sliding_window"},
    {"attention.sliding_window_pattern", kArray, "sliding_window", kSlidingLayers},
};
constexpr ClassDefault kOlmoDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "11008"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"rope_theta", "10000", kInKeys}, {"vocab_size", "50304"},
    {"max_position_embeddings", "2048", kInKeys}, {"num_hidden_layers", "32", kInShapes},
    rows::kHeadOfWidth,
};
constexpr ClassDefault kOlmoeDefaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "2048"}, {"num_attention_heads", "16"},
    rows::kAllKeyHeads, {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "50304"}, {"max_position_embeddings", "4096", kInKeys}, {"num_experts", "64"},
    {"num_experts_per_tok", "8", kInKeys}, {"num_hidden_layers", "16", kInShapes},
    rows::kHeadOfWidth, {"moe_intermediate_size", "intermediate_size", kInShapes}, rows::kAllSparse,
};
// OLMo 2 has all but the last.
constexpr ClassDefault kOlmo3Defaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "11008"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "50304"}, {"max_position_embeddings", "2048", kInKeys},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth, {"sliding_window", "4096", kInKeys},
};
// clang-format on

constexpr std::span<const ClassDefault> kOlmo2Defaults =
    std::span(kOlmo3Defaults).first(std::size(kOlmo3Defaults) - 1);

constexpr RowLists<ParameterRule> kOlmo2Rules{rows::kOuterFrame,         rows::kNormsBehind,
                                              rows::kWideAttentionNorms, rows::kAttention,
                                              rows::kAttentionBias,      rows::kMlp};

constexpr RowLists<NameRule> kOlmo2Lists{rows::kNormsBehindNames, rows::kCommonNames};

}  // namespace

const Family kOlmo = {
    .name = "olmo",
    .architectures = "OlmoForCausalLM",
    .model_types = "olmo",
    .traits = {.text = {.set = {kSharesNoKeyHeads, kRopeOfTwoFields}}},
    .names = {kOlmoNames, rows::kCommonNames},
    .keys = kOlmoKeys,
    .defaults = kOlmoDefaults,
    .parameters = {kOlmoFrame, rows::kAttention, rows::kAttentionBias, rows::kMlp},
};

const Family kOlmoe = {
    .name = "olmoe",
    .architectures = "OlmoeForCausalLM",
    .model_types = "olmoe",
    .names = rows::kExpertLists,
    .keys = kOlmoeKeys,
    .defaults = kOlmoeDefaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, rows::kWideAttentionNorms,
                   rows::kExperts},
    .graph = {.constants = {{"norm_topk_prob", "false"}}},
};

const Family kOlmo2 = {
    .name = "olmo2",
    .architectures = "Olmo2ForCausalLM",
    .model_types = "olmo2",
    .traits = {.text = {.set = {kRopeOfTwoFields, kThetaOutside}, .asserted_config = "Olmo2"}},
    .names = kOlmo2Lists,
    .keys = kOlmo2Keys,
    .defaults = kOlmo2Defaults,
    .parameters = kOlmo2Rules,
};

const Family kOlmo3 = {
    .name = "olmo2",
    .architectures = "Olmo3ForCausalLM",
    .model_types = "olmo3",
    .traits = {.text = {.set = {kAsksNothingOfRope, kRopeOfKinds}, .asserted_config = "Olmo3"}},
    .names = kOlmo2Lists,
    .keys = kOlmo2Keys,
    .defaults = kOlmo3Defaults,
    .parameters = kOlmo2Rules,
    .windows = {.period = 4},
};

}  // namespace ckpt
