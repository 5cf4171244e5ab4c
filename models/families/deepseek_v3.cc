// DeepSeek-V2, V3 and V3.2, Youtu-LLM, Mistral 4, GLM-4.7-Flash, MiniCPM3, and GLM-5 and Hunyuan 4
// with their sparse attention: keys and values come from a short latent (MLA).
//
//   kv_b_proj, rows of a head:  keys [nope] | values [v]      a row is one latent
//   k_b {heads, latent, nope}, v_b {heads, v, latent}
//
// Sources: llama.cpp conversion/deepseek.py (DeepseekV2Model), glm.py (Glm4MoeLiteModel,
// GlmMoeDsaModel), mistral3.py, hy_v4.py; transformers models/{deepseek_v2,deepseek_v3,
// deepseek_v32,youtu,mistral4,glm4_moe_lite,glm_moe_dsa,hy_v4}. The GGUF declares one key-value
// head with the size of the latent. It leaves out the layer for multi-token prediction of DeepSeek
// and keeps that of GLM.
#include <array>

#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kMlaAttention[] = {
    {".self_attn.q_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*qk_rope_head_dim hidden_size", kRows,
     "optional"},  // in the place of q_a and q_b where q_lora_rank is null
    {".self_attn.q_a_proj.weight",       "q_lora_rank hidden_size", kRows, "q_lora_rank"},
    {".self_attn.q_a_layernorm.weight",  "q_lora_rank", kWhole, "q_lora_rank"},
    {".self_attn.q_b_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*qk_rope_head_dim q_lora_rank", kRows,
     "q_lora_rank"},
    {".self_attn.kv_a_proj_with_mqa.weight", "kv_lora_rank+qk_rope_head_dim hidden_size", kRows},
    {".self_attn.kv_a_layernorm.weight", "kv_lora_rank"},
    {".self_attn.kv_b_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*v_head_dim kv_lora_rank", kRows},
    {".self_attn.o_proj.weight",         "hidden_size num_attention_heads*v_head_dim", kColumns},
    {".self_attn.q_a_proj.bias",         "q_lora_rank", kWhole, "q_lora_rank attention_bias"},
    {".self_attn.kv_a_proj_with_mqa.bias", "kv_lora_rank+qk_rope_head_dim", kWhole,
     "attention_bias"},
    {".self_attn.o_proj.bias",           "hidden_size", kWhole, "attention_bias"},
};
constexpr auto kDeepseekV2Bias = spread([] { return std::to_array<ParameterRule>({
    {".mlp.shared_experts.{gate,up}_proj.bias", "n_shared_experts*moe_intermediate_size", kRows,
     "sparse n_shared_experts mlp_bias"},
    {".mlp.shared_experts.down_proj.bias", "hidden_size", kWhole,
     "sparse n_shared_experts mlp_bias"},
}); });
constexpr auto kDsaIndexer = spread([] { return std::to_array<ParameterRule>({
    {".self_attn.indexer.wq_b.weight", "index_n_heads*index_head_dim q_lora_rank", kWhole,
     "q_lora_rank"},
    {".self_attn.indexer.wk.weight",           "index_head_dim hidden_size", kWhole, "optional"},
    {".self_attn.indexer.k_norm.{weight,bias}", "index_head_dim", kWhole, "optional"},
    {".self_attn.indexer.weights_proj.weight", "index_n_heads hidden_size", kWhole, "optional"},
}); });
constexpr auto kMlaNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.self_attn.{q_a_proj,q_b_proj,q_a_layernorm,kv_a_proj_with_mqa}",
     "blk.{}.attn_{q_a,q_b,q_a_norm,kv_a_mqa}"},
    {"model.layers.{}.self_attn.kv_a_layernorm",       "blk.{}.attn_kv_a_norm"},
    {"model.layers.{}.self_attn.kv_b_proj.weight", "blk.{}.attn_k_b.weight", kKeyValue,
     Store::kByRules, "blk.{}.attn_v_b.weight"},
    {"model.layers.{}.self_attn.indexer.k_norm",       "blk.{}.indexer.k_norm"},
    {"model.layers.{}.self_attn.indexer.weights_proj", "blk.{}.indexer.proj", kNone, Store::kF32},
    {"model.layers.{}.self_attn.indexer.{wk,wq_b}", "blk.{}.indexer.attn_{k,q_b}"},
}); });
constexpr auto kDeepseekV3Keys = spread([] { return std::to_array<KeyRule>({
    {"attention.head_count_kv",          kU32, "1", kNumber},
    {"leading_dense_block_count",        kU32, "first_k_dense_replace", kNumber},
    {"vocab_size",                       kU32, "vocab_size"},
    {"attention.q_lora_rank",            kU32, "q_lora_rank"},
    {"attention.kv_lora_rank",           kU32, "kv_lora_rank", kNumber},
    {"attention.key_length",             kU32, "kv_lora_rank+qk_rope_head_dim", kNumber},
    {"attention.value_length",           kU32, "kv_lora_rank", kNumber},
    {"attention.key_length_mla",         kU32, "qk_nope_head_dim+qk_rope_head_dim", kNumber},
    {"attention.value_length_mla",       kU32, "v_head_dim", kNumber},
    {"expert_feed_forward_length",       kU32, "moe_intermediate_size intermediate_size"},
    {"expert_{count,shared_count}", kU32, "n_{routed,shared}_experts"},
    {"expert_weights_scale",             kF32, "routed_scaling_factor"},
    {"expert_weights_norm",              kBool, "norm_topk_prob", kFieldIfTrue},
    {"rope.dimension_count",             kU32, "qk_rope_head_dim", kNumber},
    {"rope.scaling.yarn_log_multiplier", kF32, "mscale_all_dim", kRopeTenth},
}); });
// Converters before April 2025 wrote kv_b_proj as it is, and sizes of heads that are not latent.
constexpr auto kJoinedKeyValueKeys = [] {
  std::array<KeyRule, std::size(kDeepseekV3Keys) - 2> out{};
  auto next = out.begin();
  for (KeyRule rule : kDeepseekV3Keys) {
    if (rule.key == "attention.key_length" || rule.key == "attention.value_length") continue;
    if (rule.key.ends_with("_mla")) rule.key.remove_suffix(4);
    if (rule.key == "attention.head_count_kv") rule.fields = "num_key_value_heads";
    *next++ = rule;
  }
  return out;
}();
constexpr auto kGlmMoeDsaKeys = spread([] { return std::to_array<KeyRule>({
    {"rope.dimension_count",         kU32, "qk_rope_head_dim", kPartialRotary},
    {"nextn_predict_layers",         kU32, "num_nextn_predict_layers", kNextnSaid},
    {"attention.indexer.{head_count,key_length,top_k}", kU32, "index_{n_heads,head_dim,topk}",
     kNumber},
    {"attention.indexer.types",      kArray, "indexer_types", kFullLayers},
}); });
constexpr rows::KeyRules kDeepseekV32Keys = std::span(kGlmMoeDsaKeys).subspan(1, 4);
constexpr NameRule kMistral4Names[] = {   // come before the rows of experts
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_gate_up_exps.weight"},
    {"model.layers.{}.mlp.experts.gate_up_proj.weight", "blk.{}.ffn_gate_up_exps.weight"},
};
constexpr KeyRule kGlm4MoeLiteKeys[] = {
    {"nextn_predict_layers", kU32, "", kNextnLayers},
};
constexpr ClassDefault kDeepseekV3Defaults[] = {
    {"hidden_size", "7168"}, {"intermediate_size", "18432"}, {"num_attention_heads", "128"},
    {.field = "num_key_value_heads", .value = "128", .read_by = kInKeys,
     .null_as = "num_attention_heads"}, {"qk_rope_head_dim", "64"},
    rows::if_absent("head_dim", "qk_rope_head_dim", kInKeys), {"rms_norm_eps", "1e-6", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "129280"},
    {"max_position_embeddings", "4096", kInKeys}, rows::if_absent("q_lora_rank", "1536"),
    {"moe_intermediate_size", "2048"}, {"n_routed_experts", "256"}, {"n_shared_experts", "1"},
    {"num_experts_per_tok", "8", kInKeys}, {"routed_scaling_factor", "2.5", kInKeys},
    rows::if_absent("n_group", "8", kInKeys), rows::if_absent("topk_group", "4", kInKeys),
    rows::if_absent("norm_topk_prob", "1", kInKeys), {"num_hidden_layers", "61", kInShapes},
    {"kv_lora_rank", "512", kInShapes}, {"qk_nope_head_dim", "128", kInShapes},
    {"v_head_dim", "128", kInShapes}, {"first_k_dense_replace", "3", kInShapes}, rows::kAllSparse,
    {"num_nextn_predict_layers", "1", kInShapes},
};
constexpr ClassDefault kDeepseekV2Defaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "11008"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "num_attention_heads", kInKeys}, {"qk_rope_head_dim", "64"},
    {"head_dim", "qk_rope_head_dim", kInKeys}, {"rms_norm_eps", "1e-6", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "32000"},
    {"max_position_embeddings", "2048", kInKeys}, rows::if_absent("q_lora_rank", "1536"),
    {"moe_intermediate_size", "1407"}, {"n_routed_experts", "64"}, {"n_shared_experts", "2"},
    {"routed_scaling_factor", "1", kInKeys}, {"norm_topk_prob", "0", kInKeys},
    {"num_hidden_layers", "32", kInShapes}, {"kv_lora_rank", "512", kInShapes},
    {"qk_nope_head_dim", "128", kInShapes}, {"v_head_dim", "128", kInShapes},
    {"first_k_dense_replace", "0", kInShapes}, rows::kAllSparse,
};
constexpr ClassDefault kGlm4MoeLiteDefaults[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "10240"}, {"num_attention_heads", "20"},
    {"num_key_value_heads", "20", kInKeys}, {"qk_rope_head_dim", "64"},
    {"rope_theta", "10000", kInKeys}, {"rms_norm_eps", "1e-5", kInKeys}, {"vocab_size", "154880"},
    {"max_position_embeddings", "202752", kInKeys}, rows::if_absent("q_lora_rank", "768"),
    {"moe_intermediate_size", "1536"}, {"n_routed_experts", "64"}, {"n_shared_experts", "1"},
    {"num_experts_per_tok", "4", kInKeys}, {"routed_scaling_factor", "1.8", kInKeys},
    {"n_group", "1", kInKeys}, {"topk_group", "1", kInKeys}, {"norm_topk_prob", "1", kInKeys},
    {"num_hidden_layers", "47", kInShapes}, {"kv_lora_rank", "512", kInShapes},
    {"qk_nope_head_dim", "192", kInShapes}, {"v_head_dim", "256", kInShapes},
    {"first_k_dense_replace", "1", kInShapes}, rows::kAllSparse,
    {"num_nextn_predict_layers", "1", kInShapes},
};
constexpr ClassDefault kGlmMoeDsaDefaults[] = {
    {"hidden_size", "6144"}, {"intermediate_size", "12288"}, {"num_attention_heads", "64"},
    {"num_key_value_heads", "64", kInKeys}, {"qk_rope_head_dim", "64"},
    rows::if_absent("head_dim", "qk_rope_head_dim", kInKeys), {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "154880"},
    {"max_position_embeddings", "202752", kInKeys}, rows::if_absent("q_lora_rank", "2048"),
    {"moe_intermediate_size", "2048"}, {"n_routed_experts", "256"}, {"n_shared_experts", "1"},
    {"num_experts_per_tok", "8", kInKeys}, {"routed_scaling_factor", "2.5", kInKeys},
    {"n_group", "1", kInKeys}, {"topk_group", "1", kInKeys}, {"norm_topk_prob", "1", kInKeys},
    {"num_hidden_layers", "78", kInShapes}, {"kv_lora_rank", "512", kInShapes},
    {"qk_nope_head_dim", "192", kInShapes}, {"v_head_dim", "256", kInShapes},
    {"first_k_dense_replace", "3", kInShapes}, rows::kAllSparse,
    {"num_nextn_predict_layers", "1", kInShapes}, {"index_n_heads", "32", kInShapes},
    {"index_head_dim", "128", kInShapes}, {"index_topk", "2048", kInShapes},
};
// llama.cpp's converter fills in none of these defaults, so only shapes use them.
constexpr auto kDeepseekV32Defaults = rows::in_shapes({
    {"hidden_size", "7168"}, {"intermediate_size", "18432"}, {"num_attention_heads", "128"},
    {"qk_rope_head_dim", "64"}, {"vocab_size", "129280"}, rows::if_absent("q_lora_rank", "1536"),
    {"moe_intermediate_size", "2048"}, {"n_routed_experts", "256"}, {"n_shared_experts", "1"},
    {"num_hidden_layers", "61"}, {"kv_lora_rank", "512"}, {"qk_nope_head_dim", "128"},
    {"v_head_dim", "128"}, {"first_k_dense_replace", "3"}, rows::kAllSparse,
    {"index_n_heads", "64"}, {"index_head_dim", "128"}, {"index_topk", "2048"},
    {"rms_norm_eps", "1e-6", kInKeys},
});
constexpr ClassDefault kYoutuDefaults[] = {
    {"n_shared_experts", "0"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"first_k_dense_replace", "num_hidden_layers", kInShapes}, {"hidden_size", "2048", kInShapes},
    {"intermediate_size", "6144", kInShapes}, {"num_attention_heads", "16", kInShapes},
    {"qk_rope_head_dim", "64", kInShapes}, {"vocab_size", "128256", kInShapes},
    rows::if_absent("q_lora_rank", "1536", kInShapes), {"num_hidden_layers", "32", kInShapes},
    {"kv_lora_rank", "512", kInShapes}, {"qk_nope_head_dim", "128", kInShapes},
    {"v_head_dim", "128", kInShapes}, {"tie_word_embeddings", "1", kInShapes},
};
constexpr auto kMistral4Defaults = rows::in_shapes({
    {"hidden_size", "4096"}, {"intermediate_size", "12288"}, {"num_attention_heads", "32"},
    {"qk_rope_head_dim", "64"}, {"vocab_size", "131072"}, rows::if_absent("q_lora_rank", "1024"),
    {"moe_intermediate_size", "2048"}, {"n_routed_experts", "128"}, {"n_shared_experts", "1"},
    {"num_hidden_layers", "36"}, {"kv_lora_rank", "256"}, {"qk_nope_head_dim", "64"},
    {"v_head_dim", "128"}, {"first_k_dense_replace", "0"}, rows::kAllSparse,
    {"rms_norm_eps", "1e-6", kInKeys},
});
// llama.cpp does not split kv_b_proj of MiniCPM3, and its converter writes other keys for it.
constexpr NameRule kJoinedKeyValueNames[] = {   // come before the rows of MLA
    {"model.layers.{}.self_attn.kv_b_proj.weight", "blk.{}.attn_kv_b.weight"},
};
constexpr auto kMiniCpm3Keys = spread([] { return std::to_array<KeyRule>({
    {"general.file_type",                kU32, "", kFileType},
    {"context_length",                   kU32, "max_position_embeddings"},
    {"embedding_length",                 kU32, "hidden_size"},
    {"block_count",                      kU32, "", kBlockCount},
    {"feed_forward_length",              kU32, "intermediate_size"},
    {"attention.head_{count,count_kv}", kU32, "num_{attention,key_value}_heads"},
    {"attention.layer_norm_rms_epsilon", kF32, "rms_norm_eps"},
    {"vocab_size",                       kU32, "vocab_size"},
    {"attention.{q,kv}_lora_rank", kU32, "{q,kv}_lora_rank"},
    {"attention.key_length",             kU32, "qk_nope_head_dim+qk_rope_head_dim", kNumber},
    {"rope.dimension_count",             kU32, "qk_rope_head_dim"},
}); });
constexpr auto kMiniCpm3Defaults = rows::in_shapes({
    {"vocab_size", "73448"}, {"hidden_size", "2560"}, {"intermediate_size", "6400"},
    {"num_hidden_layers", "62"}, {"num_attention_heads", "40"}, rows::key_heads("40"),
    {"kv_lora_rank", "256"}, rows::if_absent("q_lora_rank", "768"), {"qk_nope_head_dim", "64"},
    {"qk_rope_head_dim", "32"}, {"v_head_dim", "hidden_size/num_attention_heads"},
    {"tie_word_embeddings", "1"},
});
// Hunyuan 4 has streams of hidden states (hyper-connections), a gate behind attention, and sinks.
// A layer that uses the tokens which another layer's indexer chose has no indexer of its own.
constexpr ParameterRule kHyV4Rows[] = {
    {"model.hc_head.hc_head_fn",               "hc_mult hc_mult*hidden_size"},
    {"model.hc_head.hc_head_base",             "hc_mult"},
    {"model.hc_head.hc_head_scale",            "1"},
    {".hc_attn_layer.hc_pre.hc_fn",            "2*hc_mult hc_mult*hidden_size"},
    {".hc_attn_layer.hc_pre.hc_base",          "2*hc_mult"},
    {".hc_attn_layer.hc_pre.hc_scale",         "2"},
    {".hc_mlp_layer.hc_pre.hc_fn",             "2*hc_mult hc_mult*hidden_size"},
    {".hc_mlp_layer.hc_pre.hc_base",           "2*hc_mult"},
    {".hc_mlp_layer.hc_pre.hc_scale",          "2"},
    {".self_attn.learnable_sink_param",        "num_attention_heads"},
    {".self_attn.linear_gate.weight",          "num_attention_heads*v_head_dim hidden_size", kRows},
    {".self_attn.indexer.wq_b.weight",         "index_n_heads*index_head_dim q_lora_rank", kWhole,
     "optional"},
};
constexpr rows::Rules kHyV4Indexer = std::span(kDsaIndexer).subspan(1);
constexpr auto kHyV4Names = spread([] { return std::to_array<NameRule>({
    {"model.hc_head.hc_head_fn",    "output_hc_fn.weight", kNone, Store::kF32},
    {"model.hc_head.hc_head_{base,scale}", "output_hc_{base,scale}.weight"},
    {"model.layers.{}.hc_attn_layer.hc_pre.hc_fn",    "blk.{}.hc_attn_fn.weight", kNone,
     Store::kF32},
    {"model.layers.{}.hc_attn_layer.hc_pre.hc_{base,scale}", "blk.{}.hc_attn_{base,scale}.weight"},
    {"model.layers.{}.hc_mlp_layer.hc_pre.hc_fn",     "blk.{}.hc_ffn_fn.weight", kNone,
     Store::kF32},
    {"model.layers.{}.hc_mlp_layer.hc_pre.hc_{base,scale}", "blk.{}.hc_ffn_{base,scale}.weight"},
    {"model.layers.{}.self_attn.learnable_sink_param", "blk.{}.attn_sinks.weight"},
    {"model.layers.{}.self_attn.linear_gate",         "blk.{}.attn_gate"},
}); });
constexpr NameRule kF32Head[] = {
    {"lm_head", "output", kNone, Store::kF32},
};
constexpr auto kHyV4Keys = spread([] { return std::to_array<KeyRule>({
    {"expert_group_{count,used_count}", kU32, "", kUnlessOne},
    {"leading_dense_block_count",    kU32, "", kLeadingDense},
    {"expert_gating_func",           kU32, "2", kNumber},  // sigmoid
    {"swiglu_clamp_exp",             kF32, "swiglu_limit", kLimits},
    {"hyper_connection.count",       kU32, "hc_mult", kNumber},
    {"hyper_connection.{epsilon,magnitude}", kF32, "hc_{eps,magnitude}"},
    {"attention.indexer.{head_count,key_length,top_k}", kU32, "index_{n_heads,head_dim,topk}",
     kNumber},
    {"attention.indexer.types",      kArray, "indexer_types", kFullLayers},
}); });
constexpr ClassDefault kHyV4Defaults[] = {
    {"hidden_size", "2816"}, {"intermediate_size", "6912"}, {"num_attention_heads", "32"},
    {"num_key_value_heads", "num_attention_heads", kInKeys}, {"qk_rope_head_dim", "64"},
    {"head_dim", "qk_rope_head_dim", kInKeys}, {"rms_norm_eps", "1e-5", kInKeys},
    {"rope_theta", "10000", kInKeys}, {"vocab_size", "120832"},
    {"max_position_embeddings", "262144", kInKeys}, {"q_lora_rank", "1536"},
    {"moe_intermediate_size", "768"}, {"n_routed_experts", "256"}, {"n_shared_experts", "1"},
    {"num_experts_per_tok", "8", kInKeys}, {"routed_scaling_factor", "2.827", kInKeys},
    {"norm_topk_prob", "1", kInKeys}, {"swiglu_limit", "10", kInKeys}, {"hc_mult", "4"},
    {"hc_eps", "1e-6", kInKeys}, {"hc_magnitude", "2", kInKeys},
    {"num_hidden_layers", "34", kInShapes}, {"kv_lora_rank", "512", kInShapes},
    {"qk_nope_head_dim", "192", kInShapes}, {"v_head_dim", "256", kInShapes},
    {"first_k_dense_replace", "1", kInShapes}, rows::kAllSparse, {"index_n_heads", "16", kInShapes},
    {"index_head_dim", "128", kInShapes}, {"index_topk", "2048", kInShapes},
};
// clang-format on

// DeepSeek V2 has the experts of V3, whose router has no bias there.
constexpr rows::Rules kDeepseekV2Router = std::span(rows::kRoutedExperts).first(1);
constexpr rows::Rules kDeepseekV2Experts = std::span(rows::kRoutedExperts).subspan(2);
constexpr RowLists<ParameterRule> kDeepseekV3Rules{rows::kFrame, kMlaAttention, rows::kMlp,
                                                   rows::kRoutedExperts, rows::kNextn};

constexpr GraphConstants kMlaConstants{
    {.field = "num_nextn_predict_layers", .value = "0", .overridable = true},
    {"rope_interleave", "true"}};

// One key-value head in the file is as many as there are heads.
void add_latent_heads(const GraphConfig& made) {
  if (made.config.contains("num_attention_heads")) {
    made.config["num_key_value_heads"] = made.config["num_attention_heads"];
  }
  if (made.rope.contains("mscale_all_dim")) made.rope["mscale"] = made.rope["mscale_all_dim"];
}

constexpr RowLists<NameRule> kMlaLists{kMlaNames, rows::kNextnNames, rows::kRoutedExpertNames,
                                       rows::kExpertNames, rows::kCommonNames};

constexpr Family with_latents(Family made) {
  if (made.name.empty()) {
    made.name = "deepseek2";
    made.graph.constants = kMlaConstants;
    made.graph.absent_fields = "mscale (as mscale_all_dim)";
  }
  if (made.names.empty()) made.names = kMlaLists;
  made.keys = kDeepseekV3Keys;
  made.head.is_dropped_if_tied = true;
  made.graph.add_fields = add_latent_heads;
  made.keys_around.own_spellings = "scoring_func";
  return made;
}

constexpr Family with_joined_key_values(Family made) {
  made.names = {kJoinedKeyValueNames,     kMlaNames,          rows::kNextnNames,
                rows::kRoutedExpertNames, rows::kExpertNames, rows::kCommonNames};
  made.keys = kJoinedKeyValueKeys;
  return made;
}

constexpr Family with_earlier(Family made, const Family& earlier) {
  made.forms.earlier = &earlier;
  return made;
}

bool has_no_indexers(const JsonValue& config) { return known(config, "indexer_types") == nullptr; }
bool has_f32_head(const JsonValue& config) {
  return is_truthy(known(config, "enable_lm_head_fp32"));
}

constexpr Family hy_v4(std::span<const NameRule> head, std::span<const FamilyVariant> variants) {
  return with_latents({
      .name = "hy_v4",
      .architectures = "HYV4ForCausalLM",
      .model_types = "hy_v4",
      .traits = {.text = {.set = {kListsMlpTypes, kStackedAlone, kLatentsOfQueries},
                          .layer_types = {"deepseek_sparse_attention"}}},
      .names = {head, kHyV4Names, kMlaNames, rows::kRoutedExpertNames, rows::kExpertNames,
                rows::kCommonNames},
      .keys_around = {.more = kHyV4Keys},
      .defaults = kHyV4Defaults,
      .parameters = {rows::kFrame, kMlaAttention, kHyV4Rows, kHyV4Indexer, rows::kMlp,
                     rows::kRoutedExperts},
      .forms = {.variants = variants},
      .left_out_start = "model.mtp_layers.",
  });
}
const Family kHyV4F32Head = hy_v4(kF32Head, {});
const FamilyVariant kHyV4Variants[] = {
    {has_no_indexers, nullptr, "a Hunyuan 4 model without indexer_types"},
    {has_f32_head, &kHyV4F32Head}};

constexpr Family kLatentV3 = with_latents({
    .architectures = "DeepseekV3ForCausalLM",
    .model_types = "deepseek_v3",
    .traits = {.text = {.set = {kActivationSilu, kAlwaysYarn, kNoauxRouter},
                        .own_config = "DeepseekV3",
                        .only_in_transformers = {"_proj.bias", "_mqa.bias"}},
               .bare_types = "kimi_k2",
               .bare = {.set = {kActivationSilu, kAlwaysYarn},
                        .only_in_transformers = {"_proj.bias", "_mqa.bias"}}},
    .defaults = kDeepseekV3Defaults,
    .parameters = kDeepseekV3Rules,
    .drafts = {.are_behind = true, .nextn = NextnLayers::kLeftOut},
    .tokenizer = {.ranks = "kimi-k2"},
});

constexpr Family kLatentV2 = with_latents({
    .architectures = "DeepseekV2ForCausalLM",
    .model_types = "deepseek_v2",
    .traits = {.text = {.set = {kActivationSilu, kAlwaysYarn, kGroupsByMethod},
                        .own_config = "DeepseekV2",
                        .only_in_transformers = {"_proj.bias", "_mqa.bias"}}},
    .defaults = kDeepseekV2Defaults,
    .parameters = {rows::kFrame, kMlaAttention, rows::kMlp, rows::kMlpBias, kDeepseekV2Router,
                   kDeepseekV2Experts, kDeepseekV2Bias},
    .drafts = {.nextn = NextnLayers::kLeftOut},
});

constexpr Family kJoinedV3 = with_joined_key_values(kLatentV3);
constexpr Family kJoinedV2 = with_joined_key_values(kLatentV2);

}  // namespace

const Family kHyV4 = hy_v4({}, kHyV4Variants);

const Family kDeepseekV3 = with_earlier(kLatentV3, kJoinedV3);
const Family kDeepseekV2 = with_earlier(kLatentV2, kJoinedV2);

const Family kGlm4MoeLite = with_latents({
    .architectures = "Glm4MoeLiteForCausalLM",
    .model_types = "glm4_moe_lite",
    .traits = {.text = {.set = {kActivationSilu, kListsMlpTypes},
                        .only_in_transformers = {"_proj.bias", "_mqa.bias"}}},
    .keys_around = {.more = kGlm4MoeLiteKeys},
    .defaults = kGlm4MoeLiteDefaults,
    .parameters = kDeepseekV3Rules,
    .drafts = {.are_behind = true, .nextn = NextnLayers::kKept},
    .tokenizer = kGlmTokenizer,
});

const Family kGlmMoeDsa = with_latents({
    .name = "glm-dsa",
    .architectures = "GlmMoeDsaForCausalLM",
    .model_types = "glm_moe_dsa",
    .traits = {.text = {.set = {kActivationSilu, kAlwaysYarn, kListsMlpTypes},
                        .layer_types = {"deepseek_sparse_attention"},
                        .only_in_transformers = {"_proj.bias", "_mqa.bias"}}},
    .keys_around = {.more = kGlmMoeDsaKeys},
    .defaults = kGlmMoeDsaDefaults,
    .parameters = {rows::kFrame, kMlaAttention, kDsaIndexer, rows::kMlp, rows::kRoutedExperts,
                   rows::kNextn},
    .drafts = {.are_behind = true, .nextn = NextnLayers::kKept},
    .tokenizer = kGlmTokenizer,
});

const Family kMiniCpm3 = {
    .name = "minicpm3",
    .architectures = "MiniCPM3ForCausalLM",
    .model_types = "minicpm3",
    .names = {kJoinedKeyValueNames, kMlaNames, rows::kCommonNames},
    .keys = kMiniCpm3Keys,
    .keys_around = {.has_common = false},
    .defaults = kMiniCpm3Defaults,
    .rope = {.is_long = true},
    .parameters = {rows::kFrame, kMlaAttention, rows::kMlp},
    .tokenizer = {.piece_file = PieceFile::kRequired},
};

const Family kDeepseekV32 = with_latents({
    .name = "deepseek32",
    .architectures = "DeepseekV32ForCausalLM",
    .model_types = "deepseek_v32",
    .traits = {.text = {.set = {kActivationSilu, kAlwaysYarn, kListsMlpTypes},
                        .layer_types = {"deepseek_sparse_attention"},
                        .only_in_transformers = {"_proj.bias", "_mqa.bias"}}},
    .keys_around = {.more = kDeepseekV32Keys},
    .defaults = kDeepseekV32Defaults,
    .parameters = {rows::kFrame, kMlaAttention, kDsaIndexer, rows::kMlp, rows::kRoutedExperts,
                   rows::kNextn},
    .drafts = {.are_behind = true, .nextn = NextnLayers::kKept},
});

const Family kYoutu = with_latents({
    .architectures = "YoutuForCausalLM",
    .model_types = "youtu",
    .traits = {.text = {.set = {kActivationSilu},
                        .only_in_transformers = {"_proj.bias", "_mqa.bias"}}},
    .defaults = kYoutuDefaults,
    .parameters = {rows::kFrame, kMlaAttention, rows::kMlp},
    .drafts = {.nextn = NextnLayers::kLeftOut},
});

const Family kMistral4 = with_latents({
    .name = "mistral4",
    .architectures = "Mistral4ForCausalLM",
    .model_types = "mistral4",
    .traits = {.text = {.set = {kActivationSilu, kFloatRouter}}},
    .names = {kMlaNames, kMistral4Names, rows::kRoutedExpertNames, rows::kExpertNames,
              rows::kCommonNames},
    .defaults = kMistral4Defaults,
    .parameters = {rows::kFrame, kMlaAttention, rows::kMlp, kDeepseekV2Router, kDeepseekV2Experts},
});

}  // namespace ckpt
