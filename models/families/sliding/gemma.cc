// Gemma, Gemma 2 and 3, and EmbeddingGemma: norms are stored minus one, the head is the embedding.
//
// Sources: llama.cpp conversion/gemma.py (GemmaModel, Gemma2Model, Gemma3Model, EmbeddingGemma);
// transformers models/gemma{,2,3}. The norm behind attention is the norm before the MLP in Gemma,
// and one of its own in the later ones; keys of Gemma and Gemma 2 have an order of their own,
// without a word on rotary positions.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kMlpNorms = spread([] { return std::to_array<ParameterRule>({
    {".{pre,post}_feedforward_layernorm.weight", "hidden_size"},
}); });
constexpr NameRule kGemmaNorms[] = {
    {"model.norm",                      "output_norm", kAddOne},
    {"model.layers.{}.input_layernorm", "blk.{}.attn_norm", kAddOne},
};
constexpr NameRule kGemma1Norms[] = {
    {"model.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm", kAddOne},
};
constexpr auto kGemma2Norms = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.{post_attention,pre_feedforward,post_feedforward}_layernorm",
     "blk.{}.{post_attention,ffn,post_ffw}_norm", kAddOne},
}); });
constexpr auto kGemma3Norms = spread([] { return std::to_array<NameRule>({
    {"model.embed_tokens",               "token_embd", kTokenRows},
    {"lm_head",                          "output"},
    {"model.layers.{}.self_attn.{q,k}_norm", "blk.{}.attn_{q,k}_norm", kAddOne},
}); });
constexpr auto kGemma2Keys = spread([] { return std::to_array<KeyRule>({
    {"context_length",                   kU32, "max_position_embeddings"},
    {"embedding_length",                 kU32, "hidden_size"},
    {"block_count",                      kU32, "", kBlockCount},
    {"feed_forward_length",              kU32, "intermediate_size"},
    {"attention.head_{count,count_kv}", kU32, "num_{attention,key_value}_heads"},
    {"attention.layer_norm_rms_epsilon", kF32, "rms_norm_eps"},
    {"attention.{key,value}_length", kU32, "head_dim"},
    {"general.file_type",                kU32, "", kFileType},
    {"attn_logit_softcapping",           kF32, "attn_logit_softcapping"},  // not Gemma's
    {"final_logit_softcapping",          kF32, "final_logit_softcapping"},
    {"attention.sliding_window",         kU32, "sliding_window"},
}); });
constexpr size_t kGemma1KeyCount = 10;
constexpr KeyRule kGemma3Keys[] = {
    {"final_logit_softcapping",  kF32, "final_logit_softcapping", kFieldUnlessZero},
    {"attention.sliding_window", kU32, "", kSlidingWindow},
};
constexpr NameRule kDenseNames[] = {
    {"dense_2", "dense_2"}, {"dense_3", "dense_3"},
};
constexpr KeyRule kGemmaEmbeddingKeys[] = {
    {"dense_2_feat_in", kU32, "", kDense},
    {"pooling_type",    kU32, "", kPooling},
};
constexpr ClassDefault kGemmaDefaults[] = {
    {"hidden_size", "3072"}, {"intermediate_size", "24576"}, {"head_dim", "256"},
    {"num_attention_heads", "16"}, {"num_key_value_heads", "16"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"vocab_size", "256000"}, {"max_position_embeddings", "8192", kInKeys},
    {"num_hidden_layers", "28", kInShapes}, {"tie_word_embeddings", "1", kInShapes},
};
constexpr ClassDefault kGemma2Defaults[] = {
    {"hidden_size", "2304"}, {"intermediate_size", "9216"}, {"head_dim", "256"},
    {"num_attention_heads", "8"}, {"num_key_value_heads", "4"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"vocab_size", "256000"}, {"max_position_embeddings", "8192", kInKeys},
    {"sliding_window", "4096", kInKeys}, {"attn_logit_softcapping", "50", kInKeys},
    {"final_logit_softcapping", "30", kInKeys}, {"num_hidden_layers", "26", kInShapes},
    {"tie_word_embeddings", "1", kInShapes},
};
constexpr ClassDefault kGemma3Defaults[] = {
    {"hidden_size", "2304"}, {"intermediate_size", "9216"}, {"head_dim", "256"},
    {"num_attention_heads", "8"}, {"num_key_value_heads", "4"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"vocab_size", "262208"}, {"max_position_embeddings", "131072", kInKeys},
    {"sliding_window", "4096", kInKeys}, {"rope_theta", "1e6", kInKeys},
    {"rope_local_base_freq", "10000", kInKeys}, {"num_hidden_layers", "26", kInShapes},
    {"tie_word_embeddings", "1", kInShapes},
};
// clang-format on

// gemma{2,3}.cpp: by the size of a head, but in the models of 27 billion, which are known by their
// layers.
void add_query_scale(const GraphConfig& made, uint64_t layers_of_27b) {
  const auto count = [&](const char* field) { return count_in(made.config, field); };
  const uint64_t heads = count("num_attention_heads");
  const uint64_t scale = made.layers != layers_of_27b ? count("head_dim")
                         : heads == 0                 ? 0
                                                      : count("hidden_size") / heads;
  if (scale > 0) made.config["query_pre_attn_scalar"] = scale;
}

}  // namespace

const Family kGemma = {
    .name = "gemma",
    .architectures = "GemmaForCausalLM",
    .model_types = "gemma",
    .activation = {"gelu_pytorch_tanh", "hidden_act hidden_activation", true},
    .traits = {.text = {.set = {kActivationGelu, kAsksNothingOfRope, kNormsFeedLinears}}},
    .names = {kGemmaNorms, kGemma1Norms, rows::kCommonNames},
    .keys = std::span(kGemma2Keys).first(kGemma1KeyCount),
    .keys_around = {.has_common = false},
    .defaults = kGemmaDefaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, rows::kMlp},
    .head = {.is_in_gguf = false},
    .tokenizer = {.piece_file = PieceFile::kRequired,
                  .end_of_turn_id = 107,
                  .adds_space_prefix = false},
};

const Family kGemma2 = {
    .name = "gemma2",
    .architectures = "Gemma2ForCausalLM",
    .model_types = "gemma2",
    .activation = kGemmaGelu,
    .traits = {.text = {.set = {kTwoActivations, kAsksNothingOfRope, kNormsFeedLinears},
                        .own_config = "Gemma2"}},
    .names = {kGemmaNorms, kGemma2Norms, rows::kCommonNames},
    .keys = kGemma2Keys,
    .keys_around = {.has_common = false},
    .defaults = kGemma2Defaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, rows::kMlp, kMlpNorms},
    .head = {.is_in_gguf = false},
    .tokenizer = {.piece_file = PieceFile::kRequired, .adds_space_prefix = false},
    .graph = {.add_fields = [](const GraphConfig& made) { add_query_scale(made, 46); }},
    .windows = {.period = 2},
};

const Family kGemma3 = {
    .name = "gemma3",
    .architectures = "Gemma3ForCausalLM Gemma3ForConditionalGeneration",
    .model_types = "gemma3_text gemma3",
    .activation = kGemmaGelu,
    .traits = {.text = {.set = {kActivationGeluTanh, kNeedsRopeType, kYarnWithoutLength,
                                kNormsFeedLinears},
                        .own_config = "Gemma3"},
               .wrapper = {.set = {kVisionActivationAny, kYarnWithoutLength}}},
    .names = {kGemma3Norms, kGemma2Norms, kGemmaNorms, rows::kCommonNames},
    .keys = kGemma3Keys,
    .defaults = kGemma3Defaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionNorms, rows::kAttentionBias,
                   rows::kMlp, kMlpNorms},
    .tokenizer = {.piece_file = PieceFile::kPreferred, .adds_space_prefix = false},
    .graph = {.add_fields = [](const GraphConfig& made) { add_query_scale(made, 62); },
              .absent_fields = "layer_types (full attention in each sixth)"},
    .windows = {.period = 6},
};

// EmbeddingGemma: Gemma 3 without a mask, under names without "model.".
const Family kGemmaEmbedding = {
    .name = "gemma-embedding",
    .architectures = "Gemma3TextModel",
    .model_types = "gemma3_text",
    .activation = kGemmaGelu,
    .names = {kGemma3Norms, kGemma2Norms, kGemmaNorms, rows::kCommonNames, kDenseNames},
    .keys = kGemma3Keys,
    .keys_around = {.more = kGemmaEmbeddingKeys},
    .defaults = kGemma3Defaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionNorms, rows::kAttentionBias,
                   rows::kMlp, kMlpNorms},
    .has_bare_names = true,
    .tokenizer = {.piece_file = PieceFile::kPreferred, .adds_space_prefix = false},
    .windows = {.period = 6},
};

}  // namespace ckpt
