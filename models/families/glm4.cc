// GLM 4 (0414) has norms before and after attention and MLP, and one matrix for gate and up.
// GLM 4.5 and 4.6 have experts after some dense layers, and a layer for multi-token prediction,
// which counts as a block even if its tensors are missing. GLM-4.1V, 4.5V and GLM-OCR wrap these
// models.
// GLM 4's class rotates pairs of rows, but llama.cpp rotates halves if the model has M-RoPE
// sections, so query and key rows move then.
//
// Sources: llama.cpp conversion/glm.py (Glm4Model, Glm4MoeModel); transformers models/glm4{,_moe},
// glm4v{,_moe}, glm_ocr.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kGlm4Norms = spread([] { return std::to_array<ParameterRule>({
    {".post_{self_attn,mlp}_layernorm.weight", "hidden_size"},
}); });
constexpr ParameterRule kGlm4Mlp[] = {
    {".mlp.gate_up_proj.weight", "2*intermediate_size hidden_size", kRows},
    {".mlp.down_proj.weight",    "hidden_size intermediate_size", kColumns},
};
constexpr auto kGlm4Names = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.post_{self_attn,mlp}_layernorm", "blk.{}.post_{attention,ffw}_norm"},
    {"model.layers.{}.mlp.gate_up_proj",         "blk.{}.ffn_up"},
}); });
constexpr KeyRule kGlm4Keys[] = {
    {"rope.dimension_count", kU32, "0.5", kPartialRotary},
};
constexpr ClassDefault kGlm4Defaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "13696"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "2"}, {"head_dim", "128"}, {"rms_norm_eps", "1.5625e-7", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "151552"},
    {"max_position_embeddings", "131072", kInKeys}, {"num_hidden_layers", "40", kInShapes},
    {"attention_bias", "1", kInShapes},
};
constexpr NameRule kGlm4vNames[] = {   // come before the other rows, because the first match wins
    {"model.layers.{}.self_attn.q_proj", "blk.{}.attn_q", kUnpairQuery},
    {"model.layers.{}.self_attn.k_proj", "blk.{}.attn_k", kUnpairKey},
};
constexpr ClassDefault kGlm4vDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "13696"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "2"}, {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "151552"},
    {"max_position_embeddings", "32768", kInKeys}, {"num_hidden_layers", "40", kInShapes},
    rows::kHeadOfWidth,
};
constexpr KeyRule kGlmOcrKeys[] = {
    {"rope.dimension_count", kU32, "0.5", kPartialRotary},
    {"nextn_predict_layers", kU32, "num_nextn_predict_layers", kNextnSaid},
};
constexpr ClassDefault kGlmOcrDefaults[] = {
    {"hidden_size", "1024"}, {"intermediate_size", "4096"}, {"num_attention_heads", "16"},
    rows::key_heads("8"), {"rms_norm_eps", "1e-5", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "59392"}, {"max_position_embeddings", "131072", kInKeys},
    {"num_hidden_layers", "16", kInShapes}, rows::kHeadOfWidth,
};
// Special tokens that llama.cpp's converter looks up by text for GLM 4 and GLM-4.1V.
constexpr std::string_view kGlm4Tokens =
    "eos=<|endoftext|> eot=<|user|> unk=<|endoftext|> bos=<|endoftext|>";
constexpr auto kGlm4MoeNorms = rows::under("use_qk_norm", rows::kAttentionNorms);
constexpr KeyRule kGlm4MoeKeys[] = {
    {"rope.dimension_count",       kU32, "0.5", kPartialRotary},
    {"expert_count",               kU32, "n_routed_experts"},
    {"expert_feed_forward_length", kU32, "moe_intermediate_size"},
    {"expert_shared_count",        kU32, "n_shared_experts"},
    {"leading_dense_block_count",  kU32, "first_k_dense_replace"},
    {"expert_gating_func",         kU32, "2", kNumber},  // sigmoid
    {"expert_weights_scale",       kF32, "routed_scaling_factor"},
    {"expert_weights_norm",        kBool, "norm_topk_prob"},
    {"nextn_predict_layers",       kU32, "num_nextn_predict_layers", kNextnSaid},
};
constexpr ClassDefault kGlm4MoeDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "10944"}, {"num_attention_heads", "96"},
    {"num_key_value_heads", "8"}, {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "151552"},
    {"max_position_embeddings", "131072", kInKeys}, {"moe_intermediate_size", "1408"},
    {"num_experts_per_tok", "8", kInKeys}, {"n_routed_experts", "128"}, {"n_shared_experts", "1"},
    {"n_group", "1", kInKeys}, {"topk_group", "1", kInKeys}, {"first_k_dense_replace", "1"},
    {"routed_scaling_factor", "1", kInKeys}, {"norm_topk_prob", "1", kInKeys},
    {"num_nextn_predict_layers", "1"}, {"num_hidden_layers", "46", kInShapes}, rows::kHeadOfWidth,
    rows::kAllSparse,
};
constexpr ClassDefault kGlm4vMoeDefaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "10944"}, {"num_attention_heads", "96"},
    {"num_key_value_heads", "8"}, {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "151424"},
    {"max_position_embeddings", "65536", kInKeys}, {"moe_intermediate_size", "1408"},
    {"num_experts_per_tok", "8", kInKeys}, {"n_routed_experts", "128"}, {"n_shared_experts", "1"},
    {"n_group", "1", kInKeys}, {"topk_group", "1", kInKeys}, {"first_k_dense_replace", "1"},
    {"routed_scaling_factor", "1", kInKeys}, {"norm_topk_prob", "1", kInKeys},
    {"num_hidden_layers", "46", kInShapes}, rows::kHeadOfWidth, rows::kAllSparse,
    {"attention_bias", "1", kInShapes},
};
// clang-format on

}  // namespace

const Family kGlm4 = {
    .name = "glm4",
    .architectures = "Glm4ForCausalLM",
    .model_types = "glm4",
    .traits = {.text = {.set = {kActivationSilu, kAsksNothingOfRope}}},
    .names = {kGlm4vNames, kGlm4Names, rows::kCommonNames},
    .keys = kGlm4Keys,
    .defaults = kGlm4Defaults,
    .parameters = {rows::kFrame, rows::kAttention, kGlm4Norms, rows::kQkvAttentionBias, kGlm4Mlp},
    .tokenizer = {.special_tokens = kGlm4Tokens},
};

const Family kGlm4v = {
    .name = "glm4",
    .architectures = "Glm4vForConditionalGeneration",
    .model_types = "glm4v_text glm4v",
    .traits = {.text = {.set = {kActivationSilu}}},
    .names = {kGlm4vNames, kGlm4Names, rows::kCommonNames},
    .keys = kGlm4Keys,
    .defaults = kGlm4vDefaults,
    .parameters = {rows::kFrame, rows::kAttention, kGlm4Norms, rows::kQkvBias, kGlm4Mlp},
    .tokenizer = {.special_tokens = kGlm4Tokens},
};

const Family kGlmOcr = {
    .name = "glm4",
    .architectures = "GlmOcrForConditionalGeneration",
    .model_types = "glm_ocr_text glm_ocr",
    .traits = {.text = {.set = {kActivationSilu}}},
    .names = {kGlm4vNames, kGlm4Names, rows::kNextnNames, rows::kCommonNames},
    .keys = kGlmOcrKeys,
    .defaults = kGlmOcrDefaults,
    .parameters = {rows::kFrame, rows::kAttention, kGlm4Norms, kGlm4Mlp},
    .drafts = {.are_behind = true, .nextn = NextnLayers::kKept},
    .tokenizer = {.special_tokens = kGlm4Tokens},
};

const Family kGlm4vMoe = {
    .name = "glm4moe",
    .architectures = "Glm4vMoeForConditionalGeneration",
    .model_types = "glm4v_moe_text glm4v_moe",
    .traits = {.text = {.set = {kActivationSilu}}},
    .names = {rows::kNormBehindName, rows::kNextnNames, rows::kRoutedExpertNames,
              rows::kExpertNames, rows::kCommonNames},
    .keys = kGlm4MoeKeys,
    .defaults = kGlm4vMoeDefaults,
    .parameters = {rows::kFrame, rows::kAttention, kGlm4MoeNorms, rows::kQkvAttentionBias,
                   rows::kMlp, rows::kRoutedExperts},
    .drafts = {.nextn = NextnLayers::kKept},
    .tokenizer = kGlmTokenizer,
};

const Family kGlm4Moe = {
    .name = "glm4moe",
    .architectures = "Glm4MoeForCausalLM",
    .model_types = "glm4_moe",
    .traits = {.text = {.set = {kActivationSilu}}},
    .names = {rows::kNormBehindName, rows::kNextnNames, rows::kRoutedExpertNames,
              rows::kExpertNames, rows::kCommonNames},
    .keys = kGlm4MoeKeys,
    .defaults = kGlm4MoeDefaults,
    .parameters = {rows::kFrame, rows::kAttention, kGlm4MoeNorms, rows::kQkvAttentionBias,
                   rows::kMlp, rows::kRoutedExperts, rows::kNextn},
    .drafts = {.are_behind = true, .nextn = NextnLayers::kKept},
    .tokenizer = kGlmTokenizer,
};

}  // namespace ckpt
