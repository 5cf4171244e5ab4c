// Command R and Command R7B, Command A: one norm a layer, the embedding is the head.
//
// Sources: llama.cpp conversion/command_r.py (CommandR2Model, Cohere2Model); transformers
// models/cohere{,2}. Command R's context is model_max_length where config.json has it; a Cohere2
// file has no biases.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kCohereFrame[] = {
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"model.norm.weight",         "hidden_size"},
    {".input_layernorm.weight",   "hidden_size"},
};
constexpr ParameterRule kCohereNorms[] = {
    {".self_attn.q_norm.weight", "num_attention_heads head_dim", kRows, "use_qk_norm"},
    {".self_attn.k_norm.weight", "num_key_value_heads head_dim", kRows, "use_qk_norm"},
};
constexpr auto kCohere2Names = spread([] { return std::to_array<NameRule>({
    {"model.embed_tokens.weight",               "token_embd.weight"},
    {"model.norm.weight",                       "output_norm.weight"},
    {"model.layers.{}.input_layernorm.weight",  "blk.{}.attn_norm.weight"},
    {"model.layers.{}.self_attn.{q,k,v,o}_proj.weight", "blk.{}.attn_{q,k,v,output}.weight"},
    {"model.layers.{}.mlp.{gate,up,down}_proj.weight", "blk.{}.ffn_{gate,up,down}.weight"},
}); });
constexpr KeyRule kCohereKeys[] = {
    {"context_length",    kU32, "model_max_length max_position_embeddings"},
    {"logit_scale",       kF32, "logit_scale"},
    {"rope.scaling.type", kText, "none", kConstant},
};
constexpr KeyRule kCohere2Keys[] = {
    {"logit_scale",              kF32, "logit_scale"},
    {"attention.sliding_window", kU32, "sliding_window"},
    {"vocab_size",               kU32, "vocab_size"},
    {"rope.dimension_count",     kU32, "rotary_pct", kRotaryPart},
    {"rope.scaling.type",        kText, "none", kConstant},
};
constexpr ClassDefault kCohereDefaults[] = {
    {"hidden_size", "8192"}, {"intermediate_size", "22528"}, {"num_attention_heads", "64"},
    rows::kAllKeyHeads, {"layer_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "256000"}, {"max_position_embeddings", "8192", kInKeys},
    {"logit_scale", "0.0625", kInKeys}, {"num_hidden_layers", "40", kInShapes}, rows::kHeadOfWidth,
    {"tie_word_embeddings", "1", kInShapes},
};
constexpr ClassDefault kCohere2Defaults[] = {
    {"hidden_size", "8192"}, {"intermediate_size", "22528"}, {"num_attention_heads", "64"},
    rows::kAllKeyHeads, {"layer_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "256000"}, {"max_position_embeddings", "8192", kInKeys},
    {"logit_scale", "0.0625", kInKeys}, {"sliding_window", "4096", kInKeys},
    rows::if_absent("head_dim", "hidden_size/num_attention_heads"),
    {"num_hidden_layers", "40", kInShapes}, {"tie_word_embeddings", "1", kInShapes},
};
// clang-format on

}  // namespace

const Family kCohere = {
    .name = "command-r",
    .architectures = "CohereForCausalLM",
    .model_types = "cohere",
    .traits = {.text = {.set = {kNeedsRopeType, kMlpBesideAttention},
                        .told_fields = {{"use_qk_norm", "attn_q_norm.weight"}}}},
    .names = {rows::kOneNormNames},
    .keys = kCohereKeys,
    .defaults = kCohereDefaults,
    .parameters = {kCohereFrame, rows::kAttention, rows::kAttentionBias, kCohereNorms, rows::kMlp},
    .head = {.is_in_gguf = false},
};

const Family kCohere2 = {
    .name = "cohere2",
    .architectures = "Cohere2ForCausalLM",
    .model_types = "cohere2",
    .traits = {.text = {.set = {kNeedsRopeType, kMlpBesideAttention},
                        .only_in_transformers = {"_proj.bias"}}},
    .names = {kCohere2Names},
    .keys = kCohere2Keys,
    .defaults = kCohere2Defaults,
    .parameters = {kCohereFrame, rows::kAttention, rows::kAttentionBias, rows::kMlp},
    .head = {.is_in_gguf = false},
    .graph = {.absent_fields = "layer_types (full attention in each fourth)"},
    .windows = {.period = 4},
};

}  // namespace ckpt
