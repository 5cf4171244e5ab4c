// ERNIE 4.5: as Llama's, with rows as they are; experts from a layer on.
//
// Sources: llama.cpp conversion/ernie.py (Ernie4_5Model, Ernie4_5MoeModel, PaddleOCRModel);
// transformers models/{ernie4_5,ernie4_5_moe,paddleocr_vl}. Stacks come gate, up, down; the width
// of the shared MLP that the configuration declares is that of the dense ones / heads of keys.
// Layers for multi-token prediction are left out.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kErnieBias = rows::under("use_bias", rows::kAllBias);
constexpr auto kErnieMlpBias = rows::under("dense use_bias", rows::kMlpBias);
constexpr auto kErnieExperts = spread([] { return std::to_array<ParameterRule>({
    {".mlp.gate.weight",                 "moe_num_experts hidden_size", kWhole, "sparse"},
    {".mlp.moe_statics.e_score_correction_bias", "1 moe_num_experts", kWhole, "sparse"},
    {".mlp.experts.{}.{gate,up}_proj.weight", "moe_intermediate_size hidden_size", kRows, "sparse"},
    {".mlp.experts.{}.down_proj.weight", "hidden_size moe_intermediate_size", kColumns, "sparse"},
    {".mlp.shared_experts.{gate,up}_proj.weight",
     "moe_num_shared_experts*moe_intermediate_size hidden_size", kRows,
     "sparse moe_num_shared_experts"},
    {".mlp.shared_experts.down_proj.weight",
     "hidden_size moe_num_shared_experts*moe_intermediate_size", kColumns,
     "sparse moe_num_shared_experts"},
}); });
constexpr auto kErnieMoeBias = spread([] { return std::to_array<ParameterRule>({
    {".mlp.shared_experts.{gate,up}_proj.bias", "moe_num_shared_experts*moe_intermediate_size",
     kRows, "sparse moe_num_shared_experts use_bias"},
    {".mlp.shared_experts.down_proj.bias", "hidden_size", kWhole,
     "sparse moe_num_shared_experts use_bias"},
    {"lm_head.bias", "vocab_size", kWhole, "head use_bias"},
}); });
constexpr NameRule kErnieMoeNames[] = {   // before the common rows: the first match wins
    {"model.layers.{}.mlp.moe_statics.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
};
constexpr auto kErnieMoeKeys = spread([] { return std::to_array<KeyRule>({
    {"expert_{count,used_count}", kU32, "moe_{num_experts,k}", kNumber},
    {"interleave_moe_layer_step",         kU32, "moe_layer_interval", kNumber},
    {"leading_dense_block_count",         kU32, "moe_layer_start_index", kNumber},
    {"expert_feed_forward_length",        kU32, "moe_intermediate_size"},
    {"expert_shared_count",               kU32, "moe_num_shared_experts"},
    {"expert_shared_feed_forward_length", kU32, "moe_num_shared_experts", kSharedWidth},
}); });
constexpr ClassDefault kErnieDefaults[] = {
    {"hidden_size", "1024"}, {"intermediate_size", "3072"}, {"num_attention_heads", "16"},
    rows::key_heads("2"),
    {.field = "head_dim", .value = "128", .read_by = kInKeys,
     .null_as = "hidden_size/num_attention_heads"}, {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "500000", kInKeys}, {"vocab_size", "103424"},
    {"max_position_embeddings", "131072", kInKeys}, {"num_hidden_layers", "18", kInShapes},
    rows::kHeadOfWidth, {"tie_word_embeddings", "1", kInShapes},
};
constexpr ClassDefault kErnieMoeDefaults[] = {
    {"hidden_size", "2560"}, {"intermediate_size", "12288"}, {"num_attention_heads", "20"},
    {"num_key_value_heads", "4"}, {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "500000", kInKeys}, {"vocab_size", "103424"},
    {"max_position_embeddings", "131072", kInKeys}, {"moe_intermediate_size", "1536"},
    {"moe_num_shared_experts", "2"}, {"num_hidden_layers", "28", kInShapes}, rows::kHeadOfWidth,
    {"moe_num_experts", "64", kInShapes}, {"moe_k", "6", kInShapes},
    {"moe_layer_start_index", "1", kInShapes}, {"moe_layer_interval", "1", kInShapes},
    {"num_experts", "moe_num_experts", kInShapes},
    {"first_k_dense_replace", "moe_layer_start_index", kInShapes},
    {"decoder_sparse_step", "moe_layer_interval", kInShapes},
    {"tie_word_embeddings", "1", kInShapes},
};
// clang-format on

constexpr TokenizerRules kErnieTokenizer{.piece_file = PieceFile::kRequired,
                                         .says_prefix_last = true};

constexpr Family ernie(Family made) {
  made.names = {rows::kCommonNames};
  made.defaults = kErnieDefaults;
  made.parameters = {rows::kFrame, rows::kAttention, kErnieBias, kErnieMlpBias, rows::kMlp};
  made.tokenizer = kErnieTokenizer;
  return made;
}

}  // namespace

const Family kErnie = ernie({
    .name = "ernie4_5",
    .architectures = "Ernie4_5ForCausalLM Ernie4_5_ForCausalLM",
    .model_types = "ernie4_5",
    .traits = {.text = {.set = {kActivationSilu}, .told_fields = {{"use_bias", "attn_q.bias"}}}},
});

// PaddleOCR-VL's text part is ERNIE 4.5 with M-RoPE.
const Family kPaddleOcr = ernie({
    .name = "paddleocr",
    .architectures = "PaddleOCRVLForConditionalGeneration",
    .model_types = "paddleocr_vl_text paddleocr_vl",
    .traits = {.text = {.set = {kActivationSilu}}},
});

const Family kErnieMoe = {
    .name = "ernie4_5-moe",
    .architectures = "Ernie4_5_MoeForCausalLM",
    .model_types = "ernie4_5_moe",
    .traits = {.text = {.set = {kActivationSilu, kSiluExperts},
                        .told_fields = {{"use_bias", "attn_q.bias"}},
                        .only_in_transformers = {"shared_experts.gate_proj.bias", "lm_head.bias",
                                                 "shared_experts.up_proj.bias",
                                                 "shared_experts.down_proj.bias"}}},
    .names = {kErnieMoeNames, rows::kRoutedExpertNames, rows::kGateFirstExpertNames,
              rows::kCommonNames},
    .keys = kErnieMoeKeys,
    .defaults = kErnieMoeDefaults,
    .parameters = {rows::kFrame, rows::kAttention, kErnieBias, kErnieMlpBias, rows::kMlp,
                   kErnieExperts, kErnieMoeBias},
    .tokenizer = kErnieTokenizer,
    .left_out_start = "model.mtp_",
};

}  // namespace ckpt
