// Phi-1, 1.5 and 2: one norm a layer, biases everywhere, the head's too. Phi-3, Phi-3.5 and Phi-4:
// query, key and value are one matrix, gate and up another, and both stay so; the factors of long
// contexts become two tensors.
//
// Sources: llama.cpp conversion/phi.py (Phi2Model, Phi3MiniModel); transformers
// models/{phi,phi3,phimoe}. Phi-2's file says no rotary base, heads of keys as many as there are of
// queries, and four times the width as the MLP's, whatever config.json says. Phi-3's keys have an
// order of their own, and the factor of attention stands before them all; a window of 0 tells Phi-4
// from the others. Norms of PhiMoE have biases, and by two fields its linear layers and head.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kPhi2Rows = spread([] { return std::to_array<ParameterRule>({
    {"model.embed_tokens.weight",    "vocab_size hidden_size"},
    {"model.final_layernorm.{weight,bias}", "hidden_size"},
    {"lm_head.weight",               "vocab_size hidden_size", kWhole, "head"},
    {"lm_head.bias",                 "vocab_size", kWhole, "head"},
    {".input_layernorm.{weight,bias}", "hidden_size"},
    {".self_attn.q_proj.weight",     "num_attention_heads*head_dim hidden_size", kRows},
    {".self_attn.{k,v}_proj.weight", "num_key_value_heads*head_dim hidden_size", kRows},
    {".self_attn.dense.weight",      "hidden_size num_attention_heads*head_dim", kColumns},
    {".self_attn.dense.bias",        "hidden_size"},
    {".mlp.fc1.weight",              "intermediate_size hidden_size", kRows},
    {".mlp.fc1.bias",                "intermediate_size", kRows},
    {".mlp.fc2.weight",              "hidden_size intermediate_size", kColumns},
    {".mlp.fc2.bias",                "hidden_size"},
}); });
constexpr auto kPhi2Norms = spread([] { return std::to_array<ParameterRule>({
    {".self_attn.q_layernorm.{weight,bias}", "head_dim", kWhole, "qk_layernorm"},
    {".self_attn.k_layernorm.{weight,bias}", "head_dim", kWhole, "qk_layernorm"},
}); });
constexpr auto kPhi2Names = spread([] { return std::to_array<NameRule>({
    {"model.final_layernorm",           "output_norm"},
    {"model.layers.{}.self_attn.dense", "blk.{}.attn_output"},
    {"model.layers.{}.mlp.fc{1,2}", "blk.{}.ffn_{up,down}"},
}); });
constexpr auto kPhi2Keys = spread([] { return std::to_array<KeyRule>({
    {"context_length",               kU32, "n_positions max_position_embeddings"},
    {"embedding_length",             kU32, "hidden_size n_embd"},
    {"feed_forward_length",          kU32, "4*hidden_size", kNumber},
    {"block_count",                  kU32, "", kBlockCount},
    {"attention.head_{count,count_kv}", kU32, "num_attention_heads n_head"},
    {"attention.layer_norm_epsilon", kF32, "layer_norm_epsilon layer_norm_eps"},
    {"rope.dimension_count",         kU32, "", kPartialHidden},
    {"general.file_type",            kU32, "", kFileType},
    {"tokenizer.ggml.add_bos_token", kBool, "false", kConstant},
}); });
constexpr ClassDefault kPhi2Defaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "8192"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"layer_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "51200"}, {"max_position_embeddings", "2048", kInKeys},
    {"partial_rotary_factor", "0.5", kInKeys}, {"num_hidden_layers", "24", kInShapes},
    rows::kHeadOfWidth,
};
constexpr ParameterRule kFusedLayer[] = {
    {".self_attn.qkv_proj.weight",
     "num_attention_heads*head_dim+2*num_key_value_heads*head_dim hidden_size", kRows},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*head_dim", kColumns},
    {".mlp.gate_up_proj.weight", "2*intermediate_size hidden_size", kRows},
    {".mlp.down_proj.weight",    "hidden_size intermediate_size", kColumns},
};
// Only vLLM's class has these biases.
constexpr ParameterRule kFusedBias[] = {
    {".self_attn.qkv_proj.bias", "num_attention_heads*head_dim+2*num_key_value_heads*head_dim",
     kRows, "attention_bias"},
    {".self_attn.o_proj.bias", "hidden_size", kWhole, "attention_bias"},
    {".mlp.gate_up_proj.bias", "2*intermediate_size", kRows, "mlp_bias"},
    {".mlp.down_proj.bias",    "hidden_size", kWhole, "mlp_bias"},
};
constexpr auto kPhiMoeRows = spread([] { return std::to_array<ParameterRule>({
    {"lm_head.bias",                   "vocab_size", kWhole, "lm_head_bias"},
    {"model.norm.bias",                "hidden_size"},
    {".{input,post_attention}_layernorm.bias", "hidden_size"},
}); });
constexpr NameRule kPhi3Names[] = {
    {"model.layers.{}.self_attn.qkv_proj", "blk.{}.attn_qkv"},
    {"model.layers.{}.mlp.gate_up_proj",   "blk.{}.ffn_up"},
};
constexpr KeyRule kPhi3EarlyKeys[] = {
    {"rope.scaling.attn_factor", kF32, "", kLongRopeAttention},
};
constexpr KeyRule kPhi3Keys[] = {
    {"context_length",                       kU32, "n_positions max_position_embeddings"},
    {"rope.scaling.original_context_length", kU32, "original_max_position_embeddings", kRopeField},
    {"embedding_length",                     kU32, "hidden_size n_embd"},
    {"feed_forward_length",                  kU32, "intermediate_size"},
    {"block_count",                          kU32, "", kBlockCount},
    {"attention.head_count",                 kU32, "num_attention_heads n_head"},
    {"attention.head_count_kv",              kU32, "num_key_value_heads n_head_kv"},
    {"attention.layer_norm_rms_epsilon",     kF32, "rms_norm_eps"},
    {"rope.dimension_count",                 kU32, "", kPartialHidden},
    {"rope.freq_base",                       kF32, "", kRopeBase},
    {"general.file_type",                    kU32, "", kFileType},
    {"attention.sliding_window",             kU32, "sliding_window", kFieldOrZero},
};
constexpr auto kPhiMoeKeys = spread([] { return std::to_array<KeyRule>({
    {"expert_{used_count,count}", kU32, "num_{experts_per_tok,local_experts}"},
}); });
constexpr ClassDefault kPhi3Defaults[] = {
    {"hidden_size", "3072"}, {"intermediate_size", "8192"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "32064"}, {"max_position_embeddings", "4096", kInKeys},
    {"original_max_position_embeddings", "4096", kInKeys}, {"num_hidden_layers", "32", kInShapes},
    rows::kHeadOfWidth,
};
constexpr ClassDefault kPhiMoeDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "6400"}, {"num_attention_heads", "32"},
    rows::key_heads("8"), {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "1e6", kInKeys},
    {"vocab_size", "32064"}, {"max_position_embeddings", "131072", kInKeys},
    {"num_local_experts", "16"}, {"num_experts_per_tok", "2", kInKeys},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth,
    {"num_experts", "num_local_experts", kInShapes}, rows::kAllSparse,
};
// clang-format on

}  // namespace

const Family kPhi2 = {
    .name = "phi2",
    .architectures = "PhiForCausalLM",
    .model_types = "phi",
    .activation = {"gelu_new", "hidden_act"},
    .traits = {.text = {.set = {kSharesNoKeyHeads, kActivationAny, kWidthOfUp, kMlpBesideAttention},
                        .only_in_transformers = {".q_layernorm.", ".k_layernorm."}}},
    .names = {kPhi2Names, rows::kCommonNames},
    .keys = kPhi2Keys,
    .keys_around = {.has_common = false},
    .defaults = kPhi2Defaults,
    .parameters = {kPhi2Rows, rows::kQkvBias, kPhi2Norms},
    .graph = {.absent_fields = "rope_theta (10000)"},
};

const Family kPhi3 = {
    .name = "phi3",
    .architectures = "Phi3ForCausalLM",
    .model_types = "phi3",
    .traits = {.text = {.set = {kActivationSilu, kRopeOfThreeFields, kThetaOutside,
                                kBiasesInVllm}}},
    .names = {kPhi3Names, rows::kCommonNames},
    .keys = kPhi3Keys,
    .keys_around = {.early = kPhi3EarlyKeys, .has_common = false},
    .defaults = kPhi3Defaults,
    .rope = {.is_long = true},
    .parameters = {rows::kFrame, kFusedLayer, kFusedBias},
    .tokenizer = {.piece_file = PieceFile::kRequired, .keeps_added_texts = true},
};

const Family kPhiMoe = {
    .name = "phimoe",
    .architectures = "PhiMoEForCausalLM",
    .model_types = "phimoe",
    .traits = {.text = {.set = {kComputesMscales},
                        .told_fields = {{"lm_head_bias", "output.bias"}}}},
    .names = {rows::kSparseMoeNames, rows::kCommonNames},
    .keys = kPhi3Keys,
    .keys_around = {.early = kPhi3EarlyKeys, .has_common = false, .more = kPhiMoeKeys},
    .defaults = kPhiMoeDefaults,
    .rope = {.is_long = true},
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, kPhiMoeRows,
                   rows::kSparseMoe},
    .tokenizer = {.piece_file = PieceFile::kRequired, .keeps_added_texts = true},
};

}  // namespace ckpt
