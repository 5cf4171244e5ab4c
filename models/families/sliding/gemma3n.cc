// Gemma 3n: four streams of hidden states (AltUp), low-rank residuals (Laurel), embeddings of every
// layer, activations that are sparse in some layers; the last layers share keys and values.
//
// Sources: llama.cpp conversion/gemma.py (Gemma3NModel); transformers models/gemma3n. Norms are
// stored as they are. Embeddings have fewer rows than the vocabulary has tokens of images and
// sounds; the GGUF fills them up with zeros.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kGemma3nRows = spread([] { return std::to_array<ParameterRule>({
    {"model.altup_projections.{0,1,2}.weight", "hidden_size hidden_size"},
    {"model.altup_unembed_projections.{0,1,2}.weight", "hidden_size hidden_size"},
    {".altup.correct_output_scale",            "hidden_size"},
    {".altup.correction_coefs.weight",         "altup_num_inputs altup_num_inputs"},
    {".altup.prediction_coefs.weight",  "altup_num_inputs*altup_num_inputs altup_num_inputs"},
    {".altup.modality_router.weight",          "altup_num_inputs hidden_size"},
    {".altup.router_norm.weight",              "hidden_size"},
    {".laurel.linear_left.weight",             "laurel_rank hidden_size"},
    {".laurel.linear_right.weight",            "hidden_size laurel_rank"},
    {".laurel.post_laurel_norm.weight",        "hidden_size"},
    {".self_attn.q_proj.weight", "num_attention_heads*head_dim hidden_size", kRows},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*head_dim", kColumns},
    {".self_attn.q_norm.weight", "head_dim"},
    // A layer that shares keys and values of another may have these all the same.
    {".self_attn.{k,v}_proj.weight", "num_key_value_heads*head_dim hidden_size", kRows, "optional"},
    {".self_attn.k_norm.weight", "head_dim", kWhole, "optional"},
}); });
constexpr auto kGemma3nNames = spread([] { return std::to_array<NameRule>({
    {"model.embed_{tokens,tokens_per_layer}", "{token,per_layer_token}_embd", kFilledTokenRows},
    {.from = "model.altup_projections.{}.weight", .to = "altup_proj.weight", .change = kStacked,
     .parts = "3"},
    {.from = "model.altup_unembed_projections.{}.weight", .to = "altup_unembd_proj.weight",
     .change = kStacked, .parts = "3"},
    {"model.layers.{}.altup.correct_output_scale", "blk.{}.altup_correct_scale.weight"},
    {"model.layers.{}.altup.correction_coefs", "blk.{}.altup_correct_coef", kNone, Store::kF32},
    {"model.layers.{}.altup.prediction_coefs", "blk.{}.altup_predict_coef", kNone, Store::kF32},
    {"model.layers.{}.altup.{modality_router,router_norm}", "blk.{}.altup_{router,router_norm}"},
    {"model.layers.{}.laurel.{linear_left,linear_right,post_laurel_norm}",
     "blk.{}.laurel_{l,r,post_norm}"},
}); });
constexpr auto kGemma3nKeys = spread([] { return std::to_array<KeyRule>({
    {"final_logit_softcapping",          kF32, "final_logit_softcapping", kFieldUnlessZero},
    {"attention.sliding_window",         kU32, "", kSlidingWindow},
    {"altup.{active_idx,num_inputs}", kU32, "altup_{active_idx,num_inputs}", kNumber},
    {"embedding_length_per_layer_input", kU32, "hidden_size_per_layer_input", kNumber},
    {"attention.shared_kv_layers",       kU32, "num_kv_shared_layers", kNumber},
    {"activation_sparsity_scale",        kArray, "activation_sparsity_pattern", kQuantiles},
    {"attention.sliding_window_pattern", kArray, "", kSlidingPattern},
    {"feed_forward_length", kArray, "intermediate_size intermediate_size", kCountsOfLayers},
}); });
constexpr ClassDefault kGemma3nDefaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "16384"}, {"head_dim", "256"},
    {"num_attention_heads", "8"}, {"num_key_value_heads", "2"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"vocab_size", "262400"}, {"max_position_embeddings", "32768", kInKeys},
    {"sliding_window", "512", kInKeys}, {"final_logit_softcapping", "30", kInKeys},
    {"num_hidden_layers", "35", kInShapes}, {"hidden_size_per_layer_input", "256", kInShapes},
    {"vocab_size_per_layer_input", "262144", kInShapes}, {"altup_active_idx", "0", kInShapes},
    {"altup_num_inputs", "4"}, {"laurel_rank", "64", kInShapes},
    {"num_kv_shared_layers", "15", kInShapes}, {"tie_word_embeddings", "1", kInShapes},
};
// clang-format on

bool has_other_streams(const JsonValue& config) {
  const auto inputs = whole(known(config, "altup_num_inputs"));
  return inputs && *inputs != 4;
}
constexpr FamilyVariant kGemma3nVariants[] = {
    {has_other_streams, nullptr, "a Gemma 3n model whose altup_num_inputs is not 4"}};

}  // namespace

const Family kGemma3n = {
    .name = "gemma3n",
    .architectures = "Gemma3nForCausalLM Gemma3nForConditionalGeneration",
    .model_types = "gemma3n_text gemma3n",
    .activation = kGemmaGelu,
    .traits = {.text = {.set = {kSharesCache, kYarnWithoutLength}},
               .wrapper = {.set = {kYarnWithoutLength}}},
    .names = {kGemma3nNames, rows::kGemmaLayerNames, rows::kCommonNames},
    .keys = kGemma3nKeys,
    .defaults = kGemma3nDefaults,
    .rope = {.by_default = R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {"rope_type": "default", "rope_theta": 1000000.0}})"},
    .parameters = {rows::kGemmaLayers, rows::kLayerInputs, kGemma3nRows, rows::kMlp},
    .forms = {.variants = kGemma3nVariants},
    .tokenizer = {.piece_file = PieceFile::kPreferred, .adds_space_prefix = false},
    .graph = {.constants = {{"altup_coef_clip", "120.0"}, {"altup_correct_scale", "true"}}},
    .windows = {.period = 5},
};

}  // namespace ckpt
