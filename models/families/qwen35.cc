// Qwen3.5, dense and mixture of experts: three layers of linear attention (gated delta net), then
// one of full attention; text part of the vision-language model too. Qwen3-Next: the same layers
// with experts, query, key, value and gate in one projection. Qwen4-Exp: the same layers between
// several residual streams, which learned matrices mix (hyper-connections); attention has an
// indexer, and a table adds vectors for n-grams of tokens.
//
// Sources: llama.cpp conversion/qwen.py (Qwen3_5TextModel and its bases, Qwen3NextModel),
// conversion/qwen4exp.py, which reads config.json as it stands; transformers
// models/qwen3_5{,_moe}, qwen3_next, qwen4_exp. linear_attn.norm is not stored minus one, all
// other norms are; post_attention_layernorm is not ffn_norm here. q_proj has twice the rows, as a
// gate belongs to each query. In Qwen3-Next value heads stay grouped by key head, and layers for
// multi-token prediction are counted by their tensors.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
// A gate for each query.
constexpr auto kGatedAttention = spread([] { return std::to_array<ParameterRule>({
    {".self_attn.q_proj.weight", "2*num_attention_heads*head_dim hidden_size", kRows,
     "full_attention"},
    {".self_attn.{k,v}_proj.weight", "num_key_value_heads*head_dim hidden_size", kRows,
     "full_attention"},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*head_dim", kColumns,
     "full_attention"},
    {".self_attn.{q,k}_norm.weight", "head_dim", kWhole, "full_attention"},
    {".self_attn.q_proj.bias",   "2*num_attention_heads*head_dim", kRows,
     "full_attention attention_bias"},
    {".self_attn.{k,v}_proj.bias", "num_key_value_heads*head_dim", kRows,
     "full_attention attention_bias"},
    {".self_attn.o_proj.bias",   "hidden_size", kWhole, "full_attention attention_bias"},
}); });
// The rows of a linear attention behind its inputs.
constexpr auto kDeltaAttention = spread([] { return rows::under("linear_attention", {
    {".linear_attn.conv1d.weight",
     "2*linear_num_key_heads*linear_key_head_dim+linear_num_value_heads*linear_value_head_dim"
     " 1 linear_conv_kernel_dim", kRows},
    {".linear_attn.{A_log,dt_bias}", "linear_num_value_heads", kRows},
    {".linear_attn.norm.weight", "linear_value_head_dim"},
    {".linear_attn.out_proj.weight",
     "hidden_size linear_num_value_heads*linear_value_head_dim", kColumns},
}); });
// Norms are stored minus one.
constexpr auto kAddedOneNames = spread([] { return std::to_array<NameRule>({
    {"model.norm",                               "output_norm", kAddOne},
    {"model.layers.{}.input_layernorm",          "blk.{}.attn_norm", kAddOne},
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm", kAddOne},
    {"model.layers.{}.self_attn.{q,k}_norm", "blk.{}.attn_{q,k}_norm", kAddOne},
    // Multi-token prediction: mtp.fc and its neighbors, under the first such layer.
    {"model.layers.{}.{e,h}norm", "blk.{}.nextn.{e,h}norm", kAddOne},
    {"model.layers.{}.shared_head.norm",         "blk.{}.nextn.shared_head_norm", kAddOne},
}); });
constexpr auto kDeltaKeys = spread([] { return std::to_array<KeyRule>({
    {"expert_{feed,shared_feed}_forward_length", kU32, "{moe,shared_expert}_intermediate_size"},
    {"nextn_predict_layers",       kU32, "", kNextnLayers},
    {"ssm.{conv_kernel,state_size,group_count,time_step_rank}", kU32,
     "linear_{conv_kernel_dim,key_head_dim,num_key_heads,num_value_heads}"},
    {"ssm.inner_size",             kU32, "linear_value_head_dim*linear_num_value_heads", kNumber},
    {"attention.recurrent_layers", kArray, "layer_types", kRecurrentLayers},
    {"full_attention_interval",    kU32, "full_attention_interval", kAttentionInterval},
    {"rope.dimension_count",       kU32, "0.25", kPartialRotary},
}); });
constexpr auto kDeltaInputs = spread([] { return rows::under("linear_attention", {
    {".linear_attn.in_proj_qkv.weight",
     "2*linear_num_key_heads*linear_key_head_dim+linear_num_value_heads*linear_value_head_dim"
     " hidden_size", kRows},
    {".linear_attn.in_proj_z.weight",
     "linear_num_value_heads*linear_value_head_dim hidden_size", kRows},
    {".linear_attn.in_proj_{a,b}.weight", "linear_num_value_heads hidden_size", kRows},
}); });
constexpr auto kQwen35Names = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.linear_attn.in_proj_qkv", "blk.{}.attn_qkv", kValueRowsAfterQk},
    {"model.layers.{}.linear_attn.in_proj_z",   "blk.{}.attn_gate", kValueRows},
    {"model.layers.{}.linear_attn.in_proj_{a,b}", "blk.{}.ssm_{alpha,beta}", kValueSingles},
    {"model.layers.{}.linear_attn.conv1d",      "blk.{}.ssm_conv1d", kConvolution, Store::kF32},
    {"model.layers.{}.linear_attn.A_log",       "blk.{}.ssm_a", kDecay, Store::kF32},
    {"model.layers.{}.linear_attn.dt_bias",     "blk.{}.ssm_dt.bias", kValueSingles},
    {"model.layers.{}.linear_attn.norm",        "blk.{}.ssm_norm"},
    {"model.layers.{}.linear_attn.out_proj",    "blk.{}.ssm_out", kValueColumns},
}); });
constexpr KeyRule kQwen35Keys[] = {
    {"rope.dimension_sections", kArray, "mrope_section", kDefaultSections},
};
constexpr ClassDefault kQwen35Defaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "12288"}, {"num_attention_heads", "16"},
    {"num_key_value_heads", "4"}, {"head_dim", "256"},
    {"max_position_embeddings", "32768", kInKeys}, {"rms_norm_eps", "1e-6", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"linear_conv_kernel_dim", "4"},
    {"linear_key_head_dim", "128"}, {"linear_value_head_dim", "128"},
    {"linear_num_key_heads", "16"}, {"linear_num_value_heads", "32"}, {"vocab_size", "248320"},
    {"num_hidden_layers", "32", kInShapes}, {"full_attention_interval", "4", kInShapes},
};
constexpr ClassDefault kQwen35MoeDefaults[] = {
    {"hidden_size", "2048"}, {"moe_intermediate_size", "512"}, {"num_attention_heads", "16"},
    {"num_key_value_heads", "2"}, {"head_dim", "256"},
    {"max_position_embeddings", "32768", kInKeys}, {"rms_norm_eps", "1e-6", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"linear_conv_kernel_dim", "4"},
    {"linear_key_head_dim", "128"}, {"linear_value_head_dim", "128"},
    {"linear_num_key_heads", "16"}, {"linear_num_value_heads", "32"}, {"vocab_size", "248320"},
    {"num_experts", "256"}, {"num_experts_per_tok", "8", kInKeys},
    {"shared_expert_intermediate_size", "512"}, {"num_hidden_layers", "40", kInShapes},
    {"full_attention_interval", "4", kInShapes}, rows::kAllSparse,
};
constexpr auto kQwen3NextLinear = rows::under("linear_attention", {
    {".linear_attn.in_proj_qkvz.weight",
     "2*linear_num_key_heads*linear_key_head_dim+2*linear_num_value_heads*linear_value_head_dim"
     " hidden_size", kRows},
    {".linear_attn.in_proj_ba.weight", "2*linear_num_value_heads hidden_size", kRows},
});
constexpr auto kQwen3NextNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.linear_attn.in_proj_qkvz.weight", "blk.{}.attn_qkv.weight", kQkvz,
     Store::kByRules, "blk.{}.attn_gate.weight"},
    {"model.layers.{}.linear_attn.in_proj_ba", "blk.{}.ssm_ba"},
    {"model.layers.{}.linear_attn.conv1d",     "blk.{}.ssm_conv1d", kSqueeze, Store::kF32},
    {"model.layers.{}.linear_attn.A_log",      "blk.{}.ssm_a", kNegExp, Store::kF32},
    {"model.layers.{}.linear_attn.dt_bias",    "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.linear_attn.{norm,out_proj}", "blk.{}.ssm_{norm,out}"},
}); });
constexpr ClassDefault kQwen3NextDefaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "5632"}, {"num_attention_heads", "16"},
    {"num_key_value_heads", "2"}, {"head_dim", "256"},
    {"max_position_embeddings", "32768", kInKeys}, {"rms_norm_eps", "1e-6", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"linear_conv_kernel_dim", "4"},
    {"linear_key_head_dim", "128"}, {"linear_value_head_dim", "128"},
    {"linear_num_key_heads", "16"}, {"linear_num_value_heads", "32"}, {"vocab_size", "151936"},
    {"moe_intermediate_size", "512"}, {"shared_expert_intermediate_size", "512"},
    {"num_experts", "512"}, {"num_experts_per_tok", "10", kInKeys},
    {"num_hidden_layers", "48", kInShapes}, {"full_attention_interval", "4", kInShapes},
    rows::kAllSparse,
};
constexpr auto kQwen4ExpRows = spread([] { return std::to_array<ParameterRule>({
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"lm_head.weight",            "vocab_size hidden_size", kWhole, "head"},
    {"model.hyper_connection_mixer.hc_norm.weight", "hc_count*hidden_size"},
    {"model.hyper_connection_mixer.input_mix_weight_down.weight",
     "hc_lowrank hc_count*hidden_size"},
    {"model.hyper_connection_mixer.input_mix_weight_up.weight", "hc_count*hidden_size hc_lowrank"},
    {".{attn,mlp}_hyper_connection.hc_norm.weight", "hc_count*hidden_size"},
    {".{attn,mlp}_hyper_connection.block_inject_weight.weight", "hc_count hc_count*hidden_size"},
    {".{attn,mlp}_hyper_connection.input_mix_weight_down.weight",
     "hc_lowrank hc_count*hidden_size"},
    {".{attn,mlp}_hyper_connection.input_mix_weight_up.weight", "hc_count*hidden_size hc_lowrank"},
    {".self_attn.indexer.index_qk_proj.weight",
     "indexer_n_heads*indexer_head_dim+indexer_kv_heads*indexer_head_dim hidden_size", kRows,
     "full_attention indexer_n_heads"},
    {".self_attn.indexer.{q,k}_layernorm.weight", "indexer_head_dim", kWhole,
     "full_attention indexer_n_heads"},
}); });
constexpr auto kNgramRows = spread([] { return rows::under("in:ple_layer_ids", {
    {".ple.key_proj.weight",   "hc_count*hidden_size ple_embed_dim"},
    {".ple.value_proj.weight", "hidden_size ple_embed_dim"},
    {".ple.conv1d.weight",     "hc_count*hidden_size 1 ple_conv_kernel_size"},
    {".ple.norm_{key,query,conv}.weight", "hc_count*hidden_size"},
    {".ple.ple_embedding.layer_multipliers", "ngram_size"},
    {".ple.ple_embedding.ngram_heads_{offsets,vocab_sizes}", "ngram_heads"},
}); });
constexpr ParameterRule kNgramShards[] = {
    {".ple.ple_embedding.ngram_embedding.shard_{}.weight", "ngram_rows ple_embed_dim/ngram_heads",
     kWhole, "in:ple_layer_ids per:split_ngram_parts"},
};
constexpr auto kQwen4ExpNames = spread([] { return std::to_array<NameRule>({
    {"model.hyper_connection_mixer.hc_norm", "output_hc_norm", kAddOne},
    {"model.hyper_connection_mixer.input_mix_weight_{down,up}", "output_hc_{down,up}"},
    {"model.layers.{}.{attn,mlp}_hyper_connection.hc_norm", "blk.{}.hc_{attn,ffn}_norm", kAddOne},
    {"model.layers.{}.attn_hyper_connection.{block_inject_weight,input_mix_weight_down,"
     "input_mix_weight_up}", "blk.{}.hc_attn_{inject,down,up}"},
    {"model.layers.{}.mlp_hyper_connection.{block_inject_weight,input_mix_weight_down,"
     "input_mix_weight_up}", "blk.{}.hc_ffn_{inject,down,up}"},
    {"model.layers.{}.self_attn.indexer.index_qk_proj.weight", "blk.{}.indexer.q_proj.weight",
     kRowParts, Store::kByRules, "blk.{}.indexer.k_proj.weight"},
    {"model.layers.{}.self_attn.indexer.{q,k}_layernorm", "blk.{}.indexer.{q,k}_norm", kAddOne},
    {"model.layers.{}.ple.{key,value}_proj", "blk.{}.ple_{key,value}"},
    {"model.layers.{}.ple.conv1d", "blk.{}.ple_conv1d", kSqueeze},
    {"model.layers.{}.ple.norm_{key,query,conv}", "blk.{}.ple_norm_{key,query,conv}", kAddOne},
    {.from = "model.layers.{}.ple.ple_embedding.ngram_embedding.shard_{}",
     .to = "per_layer_token_embd", .change = kShards, .parts = "split_ngram_parts"},
    {"model.layers.{}.ple.ple_embedding.{layer_multipliers,ngram_heads_offsets,"
     "ngram_heads_vocab_sizes}", ""},
}); });
constexpr auto kQwen4ExpKeys = spread([] { return std::to_array<KeyRule>({
    {"rope.dimension_sections", kArray, "mrope_section", kDefaultSections},
    {"hyper_connection.{count,low_rank}", kU32, "hc_{count,lowrank}", kNumber},
    {"attention.indexer.{head_count,key_length,top_k}", kU32, "indexer_{n_heads,head_dim,budget}",
     kNumber},
    {"attention.compress_ratios", kArray, "indexer_compress_ratio", kAttentionHeads},
    // These keys describe the table of n-grams.
    {"ple.layers",         kArray, "ple_layer_ids", kLessOne},
    {"ple.{ngram_size,heads_per_ngram,conv_kernel}", kU32,
     "{ngram_size,heads_per_ngram,ple_conv_kernel_size}", kNumber},
    {"ple.eos_token_id",   kU32, "eos_token_id", kLast},
    {"ple.image_token_id", kU32, "image_token_id"},
    {"embedding_length_per_layer_input", kU32, "ple_embed_dim/ngram_heads", kNumber},
    {"ple.{layer_multipliers,head_offsets,head_vocab_sizes}", kArray,
     "model.layers.{}.ple.ple_embedding.{layer_multipliers,ngram_heads_offsets,"
     "ngram_heads_vocab_sizes}", kTensorNumbers},
}); });
constexpr size_t kNgramKeys = 10;  // the last ones

bool is_prime(uint64_t number) {
  for (uint64_t part = 2; part * part <= number; ++part) {
    if (number % part == 0) return false;
  }
  return number > 1;
}
// Each head of n-grams has a prime number of rows; together they are filled up and cut.
Result<uint64_t> ngram_rows(const Fields& fields) {
  constexpr uint64_t kMostHeads = 256;
  CKPT_ASSIGN(const uint64_t heads, fields.count("ngram_heads"));
  CKPT_ASSIGN(uint64_t prime, fields.count("ngram_vocab_size_base"));
  CKPT_ASSIGN(const uint64_t multiple, fields.count("make_ngram_vocab_size_divisible_by"));
  CKPT_ASSIGN(const uint64_t parts, fields.count("split_ngram_parts"));
  if (heads > kMostHeads || multiple == 0 || parts == 0) {
    return unsupported("config.json: {} heads of n-grams in {} parts", heads, parts);
  }
  uint64_t total = 0;
  for (uint64_t head = 0; head < heads; ++head, ++prime) {
    while (!is_prime(prime)) ++prime;
    total += prime;
  }
  return (total + multiple - 1) / multiple * multiple / parts;
}
Result<uint64_t> ngram_heads(const Fields& fields) {
  CKPT_ASSIGN(const uint64_t size, fields.count("ngram_size"));
  CKPT_ASSIGN(const uint64_t heads, fields.count("heads_per_ngram"));
  return size == 0 ? 0 : (size - 1) * heads;
}
constexpr auto kQwen4ExpDefaults = rows::in_shapes({
    {"vocab_size", "248320"}, {"hidden_size", "2048"}, {"num_hidden_layers", "40"},
    {"num_attention_heads", "16"}, {"num_key_value_heads", "2"}, {"head_dim", "256"},
    {"linear_conv_kernel_dim", "4"}, {"linear_key_head_dim", "128"},
    {"linear_value_head_dim", "128"}, {"linear_num_key_heads", "16"},
    {"linear_num_value_heads", "32"}, {"moe_intermediate_size", "512"},
    {"shared_expert_intermediate_size", "512"}, {"num_experts", "512"},
    {"full_attention_interval", "4"}, {"hc_count", "4"}, {"hc_lowrank", "320"},
    {"indexer_kv_heads", "1"}, {"ple_embed_dim", "hidden_size"}, {"ple_conv_kernel_size", "4"},
    {"ngram_size", "3"}, {"heads_per_ngram", "8"}, {"ngram_vocab_size_base", "20000000"},
    {"make_ngram_vocab_size_divisible_by", "128"}, {"split_ngram_parts", "512"}, rows::kAllSparse,
    {.field = "ngram_heads", .value = "", .compute = ngram_heads},
    {.field = "ngram_rows", .value = "", .compute = ngram_rows},
});
// clang-format on

constexpr Family qwen35(Family made) {
  made.traits.both = {
      .set = {kDeltaClass, kStrictTower, kThetaInside, kFullAttentionInterval, kDeepstackList,
              kFloatRouter, kSplitsMarks, kTakesWrapperNames, kNestedText, kFoldsNormsAsPlain},
      .rotated_share = 0.25,
      .only_in_transformers = {"_proj.bias"}};
  made.keys = kDeltaKeys;
  made.keys_around.more = kQwen35Keys;
  made.drafts.are_outside = true;
  return made;
}

bool has_no_ngrams(const JsonValue& config) { return list_in(config, "ple_layer_ids").empty(); }
bool has_many_tables(const JsonValue& config) {
  return list_in(config, "ple_layer_ids").size() > 1;
}
constexpr Family qwen4exp(std::span<const KeyRule> keys) {
  return {
      .name = "qwen4exp",
      .architectures = "Qwen4ExpForCausalLM Qwen4ExpForConditionalGeneration",
      .model_types = "qwen4_exp_text qwen4_exp",
      .traits = {.text = {.set = {kOnlySilu, kExpertsAlone, kStackedExperts},
                          .layer_types = {"linear_attention", "indexed_attention"}},
                 .both = {.set = {kThetaInside, kFloatRouter, kSplitsMarks},
                          .rotated_share = 0.25,
                          .only_in_transformers = {"_proj.bias"}}},
      .names = {kQwen4ExpNames, kAddedOneNames, kQwen35Names, rows::kExpertNames,
                rows::kCommonNames},
      .keys = kDeltaKeys,
      .keys_around = {.more = keys},
      .defaults = kQwen4ExpDefaults,
      .parameters = {kQwen4ExpRows, kGatedAttention, kDeltaInputs, kDeltaAttention, rows::kExperts,
                     rows::kSharedExpert, kNgramRows, kNgramShards},
      .sizes = {.row_parts = "indexer_n_heads*indexer_head_dim indexer_kv_heads*indexer_head_dim"},
      .left_out_start = "mtp.",
  };
}
constexpr Family kNoNgrams =
    qwen4exp(std::span(kQwen4ExpKeys).first(kQwen4ExpKeys.size() - kNgramKeys));
constexpr FamilyVariant kQwen4ExpVariants[] = {
    {has_no_ngrams, &kNoNgrams},
    {has_many_tables, nullptr, "a Qwen4-Exp with tables of n-grams in several layers"}};

}  // namespace

const Family kQwen35 = qwen35({
    .name = "qwen35",
    .architectures = "Qwen3_5ForCausalLM Qwen3_5ForConditionalGeneration",
    .model_types = "qwen3_5_text qwen3_5",
    .traits = {.text = {.set = {kTravelsAlone, kOnlySilu, kCountsLayersByDefault,
                                kNormsFeedLinears},
                        .own_config = "Qwen3_5"},
               .wrapper = {.set = {kFlatWrapper, kTokenizerByType},
                           .processor_tokenizer = "Qwen2TokenizerFast"}},
    .names = {kAddedOneNames, kQwen35Names, rows::kNextnNames, rows::kCommonNames},
    .defaults = kQwen35Defaults,
    .parameters = {rows::kFrame, kGatedAttention, kDeltaInputs, kDeltaAttention, rows::kMlp},
});

// MiniCPM-V 4.6 wraps Qwen3.5's text model; its merger belongs to the projector. The GGUF counts
// layers for multi-token prediction and lacks their tensors.
const Family kMiniCpmV46 = [] {
  Family made = qwen35({
      .name = "qwen35",
      .architectures = "MiniCPMV4_6ForConditionalGeneration",
      .model_types = "minicpmv4_6",
      .names = {kAddedOneNames, kQwen35Names, rows::kCommonNames},
      .defaults = kQwen35Defaults,
      .parameters = {rows::kFrame, kGatedAttention, kDeltaInputs, kDeltaAttention, rows::kMlp},
      .is_partial = true,
      .drafts = {.nextn = NextnLayers::kKept},
      .left_out_start = "model.merger. mtp.",
  });
  made.drafts.are_outside = false;
  return made;
}();

const Family kQwen35Moe = qwen35({
    .name = "qwen35moe",
    .architectures = "Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration",
    .model_types = "qwen3_5_moe_text qwen3_5_moe",
    .traits = {.text = {.set = {kTravelsAlone, kOnlySilu, kCountsLayersByDefault, kExpertsAlone,
                                kStackedExperts, kNormsFeedLinears},
                        .own_config = "Qwen3_5Moe"},
               .wrapper = {.set = {kFlatWrapper}, .processor_tokenizer = "Qwen2TokenizerFast"}},
    .names = {kAddedOneNames, kQwen35Names, rows::kNextnNames, rows::kExpertNames,
              rows::kCommonNames},
    .defaults = kQwen35MoeDefaults,
    .parameters = {rows::kFrame, kGatedAttention, kDeltaInputs, kDeltaAttention, rows::kExperts,
                   rows::kSharedExpert},
});

const Family kQwen3Next = {
    .name = "qwen3next",
    .architectures = "Qwen3NextForCausalLM",
    .model_types = "qwen3_next",
    .traits = {.text = {.set = {kOnlySilu, kNeedsRopeType, kNormsFeedLinears},
                        .own_config = "Qwen3Next",
                        .only_in_transformers = {"_proj.bias"}}},
    .names = {kAddedOneNames, kQwen3NextNames, rows::kNextnNames, rows::kExpertNames,
              rows::kCommonNames},
    .keys = kDeltaKeys,
    .defaults = kQwen3NextDefaults,
    .parameters = {rows::kFrame, kGatedAttention, kQwen3NextLinear, kDeltaAttention, rows::kMlp,
                   rows::kExperts, rows::kSharedExpert},
    .drafts = {.are_outside = true},
    .graph = {.constants = rows::kExpertConstants},
};

const Family kQwen4Exp = [] {
  Family made = qwen4exp(kQwen4ExpKeys);
  made.forms.variants = kQwen4ExpVariants;
  return made;
}();

}  // namespace ckpt
