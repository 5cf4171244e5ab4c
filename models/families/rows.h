// Rows that the tables of several families share; private to models/.
//
// Sources: as the files of families, where "transformers models/NAME" is modeling_NAME.py for
// shapes and configuration_NAME.py for defaults. Only families with these very rows name them; one
// that differs in a shape has rows of its own. spread() (spread.h) makes two rows of
// "mlp.{gate,up}_proj".
#pragma once

#include <array>

#include "models/families/list.h"
#include "models/families/spread.h"

namespace ckpt {

// Rows name what they are made of without the names of the types.
using enum Change;
using enum KeySource;
using enum MetaType;
using enum ServerCut;
using enum ModelTrait;
inline constexpr ReadBy kInKeys = ReadBy::kKeys, kInShapes = ReadBy::kShapes;

// Tokenizers as Llama's class reads them.
inline constexpr TokenizerRules kLlamaTokenizer{
    .piece_file = PieceFile::kPreferred, .byte_fallback = ByteFallback::kAsLlama, .is_llama = true};
// Tokenizers as GLM's class reads them.
inline constexpr TokenizerRules kGlmTokenizer{
    .special_tokens = "bos=[gMASK] eot=<|user|> unk=<|endoftext|> eom=<|observation|>"};

inline constexpr Activation kGemmaGelu{"gelu_pytorch_tanh", "hidden_activation", true};

// Sources of constants and activations: llama.cpp src/models (the graphs), transformers
// configuration_*.py (what a class fills in where config.json is silent).
inline uint64_t count_in(const JsonValue& config, std::string_view field) {
  return whole(known(config, field)).value_or(0);
}

namespace rows {

// Defaults of many classes: a head's part of the width, experts in each layer, as many heads of
// keys as of queries.
inline constexpr ClassDefault kHeadOfWidth{"head_dim", "hidden_size/num_attention_heads",
                                           kInShapes};
inline constexpr ClassDefault kAllSparse{"decoder_sparse_step", "1", kInShapes};
inline constexpr ClassDefault kAllKeyHeads{"num_key_value_heads", "num_attention_heads"};
// Another number of them, where null still means as many.
constexpr ClassDefault key_heads(std::string_view count) {
  return {.field = "num_key_value_heads", .value = count, .null_as = "num_attention_heads"};
}
// Null means that there is none.
constexpr ClassDefault if_absent(std::string_view field, std::string_view value,
                                 ReadBy read_by = ReadBy::kAll) {
  return {.field = field, .value = value, .read_by = read_by, .unless = field};
}

// Outputs of a classifier.
inline constexpr ClassDefault kLabelCount{
    .field = "num_labels", .value = "", .read_by = kInShapes, .compute = count_labels};

// The router of Qwen's experts, in each layer.
inline constexpr GraphConstants kExpertConstants{
    {"norm_topk_prob", "true"}, {"decoder_sparse_step", "1"}, {"mlp_only_layers", "[]"}};

// Returns the parameters with another condition.
template <size_t kCount>
constexpr auto under(std::string_view when, std::array<ParameterRule, kCount> rules) {
  for (ParameterRule& rule : rules) rule.when = when;
  return rules;
}
template <size_t kCount>
constexpr auto under(std::string_view when, const ParameterRule (&rules)[kCount]) {
  return under(when, std::to_array(rules));
}

// Defaults of a class that llama.cpp's converter does not fill in, so only shapes use them. Fields
// that kInKeys marks are an exception: the converter knows their defaults, too.
template <size_t kCount>
constexpr std::array<ClassDefault, kCount> in_shapes(const ClassDefault (&fields)[kCount]) {
  std::array<ClassDefault, kCount> out = std::to_array(fields);
  for (ClassDefault& field : out) {
    if (field.read_by != ReadBy::kKeys) field.read_by = ReadBy::kShapes;
  }
  return out;
}

// clang-format off
inline constexpr auto kFrame = spread([] { return std::to_array<ParameterRule>({
    {"model.embed_tokens.weight",        "vocab_size hidden_size"},
    {"model.norm.weight",                "hidden_size"},
    {"lm_head.weight",                   "vocab_size hidden_size", kWhole, "head"},
    {".{input,post_attention}_layernorm.weight", "hidden_size"},
}); });
inline constexpr std::span<const ParameterRule> kOuterFrame = std::span(kFrame).first(3);
// The norms of layers that apply them to the results of attention and MLP, not to their inputs.
inline constexpr auto kNormsBehind = spread([] { return std::to_array<ParameterRule>({
    {".post_{attention,feedforward}_layernorm.weight", "hidden_size"},
}); });

inline constexpr auto kAttention = spread([] { return std::to_array<ParameterRule>({
    {".self_attn.q_proj.weight", "num_attention_heads*head_dim hidden_size", kRows},
    {".self_attn.{k,v}_proj.weight", "num_key_value_heads*head_dim hidden_size", kRows},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*head_dim", kColumns},
}); });
inline constexpr auto kAttentionNorms = spread([] { return std::to_array<ParameterRule>({
    {".self_attn.{q,k}_norm.weight", "head_dim"},
}); });
inline constexpr ParameterRule kWideAttentionNorms[] = {  // over all heads
    {".self_attn.q_norm.weight", "num_attention_heads*head_dim"},
    {".self_attn.k_norm.weight", "num_key_value_heads*head_dim"},
};
inline constexpr auto kAllBias = spread([] { return std::to_array<ParameterRule>({
    {".self_attn.q_proj.bias", "num_attention_heads*head_dim", kRows},
    {".self_attn.{k,v}_proj.bias", "num_key_value_heads*head_dim", kRows},
    {".self_attn.o_proj.bias", "hidden_size", kWhole},
}); });
inline constexpr auto kAttentionBias = under("attention_bias", kAllBias);
inline constexpr std::span<const ParameterRule>
    kQkvBias = std::span(kAllBias).first(3),
    kQkvAttentionBias = std::span(kAttentionBias).first(3);

inline constexpr auto kMlp = spread([] { return std::to_array<ParameterRule>({
    {".mlp.{gate,up}_proj.weight", "intermediate_size hidden_size", kRows, "dense"},
    {".mlp.down_proj.weight", "hidden_size intermediate_size", kColumns, "dense"},
}); });
inline constexpr auto kMlpBias = spread([] { return std::to_array<ParameterRule>({
    {".mlp.{gate,up}_proj.bias", "intermediate_size", kRows, "dense mlp_bias"},
    {".mlp.down_proj.bias", "hidden_size", kWhole, "dense mlp_bias"},
}); });
inline constexpr std::span<const ParameterRule>
    kGatelessMlp = std::span(kMlp).subspan(1),
    kGatelessMlpBias = std::span(kMlpBias).subspan(1);

inline constexpr auto kExperts = spread([] { return std::to_array<ParameterRule>({
    {".mlp.gate.weight", "num_experts hidden_size", kWhole, "sparse"},
    {".mlp.experts.{}.{gate,up}_proj.weight", "moe_intermediate_size hidden_size", kRows,
     "sparse separate"},
    {".mlp.experts.{}.down_proj.weight", "hidden_size moe_intermediate_size", kColumns,
     "sparse separate"},
    {".mlp.experts.gate_up_proj", "num_experts 2*moe_intermediate_size hidden_size", kRows,
     "sparse stacked"},
    {".mlp.experts.down_proj", "num_experts hidden_size moe_intermediate_size", kColumns,
     "sparse stacked"},
}); });
// kExperts without its first row, the router.
inline constexpr std::span<const ParameterRule> kExpertProjections = std::span(kExperts).subspan(1);
inline constexpr auto kSharedExpert = spread([] { return std::to_array<ParameterRule>({
    {".mlp.shared_expert.{gate,up}_proj.weight", "shared_expert_intermediate_size hidden_size",
     kRows, "sparse shared_expert_intermediate_size"},
    {".mlp.shared_expert.down_proj.weight", "hidden_size shared_expert_intermediate_size", kColumns,
     "sparse shared_expert_intermediate_size"},
    {".mlp.shared_expert_gate.weight", "1 hidden_size", kWhole, "sparse"},
}); });
inline constexpr auto kFullAttention = under("full_attention", kAttention);
// Routed experts as GLM and DeepSeek name them; the first layers may be dense.
inline constexpr auto kRoutedExperts = spread([] { return std::to_array<ParameterRule>({
    {".mlp.gate.weight",                  "n_routed_experts hidden_size", kWhole, "sparse"},
    {".mlp.gate.e_score_correction_bias", "n_routed_experts", kWhole, "sparse"},
    {".mlp.experts.{}.{gate,up}_proj.weight", "moe_intermediate_size hidden_size", kRows,
     "sparse separate"},
    {".mlp.experts.{}.down_proj.weight", "hidden_size moe_intermediate_size", kColumns,
     "sparse separate"},
    {".mlp.experts.gate_up_proj", "n_routed_experts 2*moe_intermediate_size hidden_size", kRows,
     "sparse stacked"},
    {".mlp.experts.down_proj", "n_routed_experts hidden_size moe_intermediate_size", kColumns,
     "sparse stacked"},
    {".mlp.shared_experts.{gate,up}_proj.weight",
     "n_shared_experts*moe_intermediate_size hidden_size", kRows, "sparse n_shared_experts"},
    {".mlp.shared_experts.down_proj.weight", "hidden_size n_shared_experts*moe_intermediate_size",
     kColumns, "sparse n_shared_experts"},
}); });
inline constexpr std::span<const ParameterRule>
    kSharedExperts = std::span(kRoutedExperts).subspan(7);
// Experts as Mixtral names them: w1 is the gate, w2 down, w3 up.
inline constexpr ParameterRule kSparseMoe[] = {
    {".block_sparse_moe.gate.weight",          "num_local_experts hidden_size"},
    {".block_sparse_moe.experts.{}.w1.weight", "intermediate_size hidden_size", kRows},
    {".block_sparse_moe.experts.{}.w2.weight", "hidden_size intermediate_size", kColumns},
    {".block_sparse_moe.experts.{}.w3.weight", "intermediate_size hidden_size", kRows},
};
inline constexpr ParameterRule kClassifierRows[] = {
    {"classifier.weight", "num_labels hidden_size", kWhole, "classifier"},
    {"classifier.bias",   "num_labels", kWhole, "classifier"},
};
// Parameters of a layer for multi-token prediction other than attention and experts.
inline constexpr auto kNextn = spread([] { return std::to_array<ParameterRule>({
    {".eh_proj.weight",          "hidden_size 2*hidden_size", kWhole, "nextn"},
    {".{e,h}norm.weight", "hidden_size", kWhole, "nextn"},
    {".shared_head.norm.weight", "hidden_size", kWhole, "nextn"},
    {".shared_head.head.weight", "vocab_size hidden_size", kWhole, "nextn optional"},
    {".embed_tokens.weight",     "vocab_size hidden_size", kWhole, "nextn optional"},
}); });

// Gemma 3n and 4 have norms before and behind each part of a layer, and embeddings for every layer.
inline constexpr auto kGemmaLayers = spread([] { return std::to_array<ParameterRule>({
    {"model.embed_tokens.weight",              "vocab_size hidden_size"},
    {"model.norm.weight",                      "hidden_size"},
    {".{input,post_attention,pre_feedforward,post_feedforward}_layernorm.weight", "hidden_size"},
}); });
// Embeddings of every layer. Models without them have a hidden_size_per_layer_input of 0.
inline constexpr auto kLayerInputs = under("hidden_size_per_layer_input",
                                           spread([] { return std::to_array<ParameterRule>({
    {"model.embed_tokens_per_layer.weight",
     "vocab_size_per_layer_input num_hidden_layers*hidden_size_per_layer_input"},
    {"model.per_layer_model_projection.weight",
     "num_hidden_layers*hidden_size_per_layer_input hidden_size"},
    {"model.per_layer_projection_norm.weight", "hidden_size_per_layer_input"},
    {".per_layer_input_gate.weight",           "hidden_size_per_layer_input hidden_size"},
    {".per_layer_projection.weight",           "hidden_size hidden_size_per_layer_input"},
    {".post_per_layer_input_norm.weight",      "hidden_size"},
}); }));

// ---- names in GGUF ----------------------------------------------------------------------------

inline constexpr auto kCommonNames = spread([] { return std::to_array<NameRule>({
    {"lm_head",                                  "output"},
    {"model.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm"},
    {"model.embed_tokens",                       "token_embd"},
    {"model.norm",                               "output_norm"},
    {"model.layers.{}.input_layernorm",          "blk.{}.attn_norm"},
    {"model.layers.{}.self_attn.{q_proj,k_proj,v_proj,o_proj,q_norm,k_norm}",
     "blk.{}.attn_{q,k,v,output,q_norm,k_norm}"},
    {"model.layers.{}.mlp.{gate,up,down}_proj", "blk.{}.ffn_{gate,up,down}"},
}); });

inline constexpr NameRule kClassifierNames[] = {
    {"classifier", "cls.output"},
};
inline constexpr NameRule kAnswerNames[] = {  // of rerankers; before the common names
    {"lm_head.weight", "cls.output.weight", kAnswerRows},
};
inline constexpr NameRule kTiedAnswerNames[] = {
    {"model.embed_tokens.weight", "cls.output.weight", kAnswersAndAll, Store::kByRules,
     "token_embd.weight"},
};
inline constexpr auto kNormsBehindNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.post_{attention,feedforward}_layernorm", "blk.{}.post_{attention,ffw}_norm"},
}); });

inline constexpr auto kGemmaLayerNames = spread([] { return std::to_array<NameRule>({
    {"model.per_layer_{model_projection,projection_norm}", "per_layer_{model_proj,proj_norm}"},
    {"model.layers.{}.{post_attention,pre_feedforward,post_feedforward}_layernorm",
     "blk.{}.{post_attention,ffn,post_ffw}_norm"},
    {"model.layers.{}.per_layer_input_gate",       "blk.{}.inp_gate"},
    {"model.layers.{}.per_layer_projection",       "blk.{}.proj"},
    {"model.layers.{}.post_per_layer_input_norm",  "blk.{}.post_norm"},
}); });

inline constexpr std::span<const NameRule> kNormBehindName = std::span(kNormsBehindNames).first(1);

inline constexpr auto kExpertNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.mlp.gate",                  "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.mlp.experts.{}.{down,gate,up}_proj", "blk.{}.ffn_{down,gate,up}_exps",
     kExpert},
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight", kExpertsGateUp,
     Store::kByRules, "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.gate_up_proj.weight", "blk.{}.ffn_gate_exps.weight",
     kExpertsGateUp, Store::kByRules, "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.down_proj",     "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.mlp.experts.down_proj.weight", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.mlp.shared_expert.{gate,up,down}_proj", "blk.{}.ffn_{gate,up,down}_shexp"},
    {"model.layers.{}.mlp.shared_expert_gate",    "blk.{}.ffn_gate_inp_shexp", kNone, Store::kF32},
}); });
// kExpertNames for families whose GGUF has stacked experts in the order gate, up, down.
inline constexpr auto kGateFirstExpertNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.mlp.gate",                 "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.mlp.experts.{}.{gate,up,down}_proj", "blk.{}.ffn_{gate,up,down}_exps",
     kExpert},
}); });

inline constexpr auto kRoutedExpertNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.mlp.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.mlp.shared_experts.{gate,up,down}_proj", "blk.{}.ffn_{gate,up,down}_shexp"},
}); });
inline constexpr auto kSparseMoeNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.block_sparse_moe.gate",          "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.block_sparse_moe.experts.{}.w{1,2,3}", "blk.{}.ffn_{gate,down,up}_exps",
     kExpert},
}); });
inline constexpr auto kSharedMoeNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.block_sparse_moe.shared_experts.{gate,up,down}_proj",
     "blk.{}.ffn_{gate,up,down}_shexp"},
}); });
inline constexpr auto kNextnNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.eh_proj",          "blk.{}.nextn.eh_proj"},
    {"model.layers.{}.{e,h}norm", "blk.{}.nextn.{e,h}norm"},
    {"model.layers.{}.shared_head.{norm,head}", "blk.{}.nextn.shared_head_{norm,head}"},
    {"model.layers.{}.embed_tokens",     "blk.{}.nextn.embed_tokens"},
}); });

inline constexpr NameRule kPairNames[] = {  // rows of q and k become pairs; before the common names
    {"model.layers.{}.self_attn.q_proj", "blk.{}.attn_q", kRopeQuery},
    {"model.layers.{}.self_attn.k_proj", "blk.{}.attn_k", kRopeKey},
};

// Layers of Mamba 2 alone, and what is around them, in classes that call the model "backbone".
inline constexpr NameRule kMamba2Names[] = {
    {"backbone.embeddings",                    "token_embd"},
    {"backbone.norm_f",                        "output_norm"},
    {"lm_head",                                "output"},
    {"backbone.layers.{}.norm",                "blk.{}.attn_norm"},
    {"backbone.layers.{}.mixer.A_log",         "blk.{}.ssm_a", kDecayColumn},
    {"backbone.layers.{}.mixer.D",             "blk.{}.ssm_d", kColumn},
    {"backbone.layers.{}.mixer.conv1d.weight", "blk.{}.ssm_conv1d.weight", kSqueeze, Store::kF32},
    {"backbone.layers.{}.mixer.conv1d.bias",   "blk.{}.ssm_conv1d.bias"},
    {"backbone.layers.{}.mixer.dt_bias",       "blk.{}.ssm_dt.bias"},
    {"backbone.layers.{}.mixer.in_proj",       "blk.{}.ssm_in"},
    {"backbone.layers.{}.mixer.norm",          "blk.{}.ssm_norm", kNormGroups},
    {"backbone.layers.{}.mixer.out_proj",      "blk.{}.ssm_out"},
};

// Keys of models that may be embedding models, and of Qwen's models with experts.
inline constexpr KeyRule kPoolingKeys[] = {
    {"pooling_type", kU32, "", kPooling},
};
inline constexpr KeyRule kEncoderKeys[] = {
    {"attention.causal",         kBool, "false", kConstant},
    {"pooling_type",             kU32, "", kPooling},
    {"classifier.output_labels", kArray, "id2label", kLabels},
};
// Keys of Qwen's rerankers, whose outputs are the logits of two tokens.
inline constexpr KeyRule kRerankerKeys[] = {
    {"pooling_type",                   kU32, "", kPooling},
    {"pooling_type",                   kU32, "4", kNumber},
    {"classifier.output_labels",       kArray, "yes no", kWords},
    {"tokenizer.chat_template.rerank", kText,
     "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
     "the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
     "<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that "
     "answer the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n"
     "<|im_start|>assistant\n<think>\n\n</think>\n\n", kConstant},
    {"tokenizer.chat_templates",       kArray, "rerank", kWords},
};
inline constexpr auto kQwenExpertKeys = spread([] { return std::to_array<KeyRule>({
    {"expert_{feed,shared_feed}_forward_length", kU32, "{moe,shared_expert}_intermediate_size"},
}); });
inline constexpr KeyRule kLlamaKeys[] = {
    {"vocab_size",           kU32, "vocab_size"},
    {"rope.dimension_count", kU32, "", kRotary},
};
// clang-format on

// The common names without the first two, for models that have no head and one norm in each layer.
inline constexpr std::span<const NameRule> kOneNormNames =
    std::span<const NameRule>(kCommonNames).subspan(2);

// ---- lists that several families have ---------------------------------------------------------

using Rules = std::span<const ParameterRule>;
using KeyRules = std::span<const KeyRule>;
using NameRules = std::span<const NameRule>;
inline constexpr RowLists<ParameterRule> kLlamaRules{kFrame, kAttention, kAttentionBias, kMlp,
                                                     kMlpBias};
inline constexpr RowLists<ParameterRule> kQwen2Rules{kFrame, kAttention, kQkvBias, kMlp};
inline constexpr RowLists<ParameterRule> kQwen3Rules{kFrame, kAttention, kAttentionNorms,
                                                     kAttentionBias, kMlp};

// `made` as a reranker, whose head has two rows of the token embedding or of a head of its own.
constexpr Family reranker(Family made, bool is_tied) {
  made.names = {is_tied ? NameRules(kTiedAnswerNames) : NameRules(kAnswerNames), kCommonNames};
  made.keys = kRerankerKeys;
  return made;
}
inline bool ties_head(const JsonValue& config) {
  return is_truthy(known(config, "tie_word_embeddings"));
}

inline constexpr RowLists<NameRule> kPairLists{kPairNames, kCommonNames};
inline constexpr RowLists<NameRule> kExpertLists{kExpertNames, kCommonNames};

}  // namespace rows
}  // namespace ckpt
