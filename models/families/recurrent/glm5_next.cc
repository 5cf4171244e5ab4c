// GLM-5 Next (GLM-5.3 Flash): Kimi Delta Attention (KDA) between layers of latent attention (MLA)
// without rotation, whose indexer chooses among pooled keys; several residual streams, which
// learned matrices mix (hyper-connections); experts behind some dense layers.
//
// Sources: llama.cpp conversion/glm.py (Glm5NextModel) of a release after v0.5.0; transformers
// models/glm5_next. The class reads the dense layers from a list, the converter from a number.
#include "models/families/recurrent/delta_rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kGlm5Rows = spread([] { return std::to_array<ParameterRule>({
    {".hc_{attn,ffn}_base",  "2*hc_mult+hc_mult*hc_mult", kWhole, "trunk"},
    {".hc_{attn,ffn}_fn",    "2*hc_mult+hc_mult*hc_mult hc_mult*hidden_size", kWhole, "trunk"},
    {".hc_{attn,ffn}_scale", "3", kWhole, "trunk"},
    {".self_attn.A_log",     "linear_attn_config.num_heads", kWhole, "linear_attention"},
    {".self_attn.indexer.wq_b.weight", "index_n_heads*index_head_dim q_lora_rank", kWhole,
     "full_attention optional"},  // layers may share the choice of the indexer before them
    {".self_attn.indexer.{wk.weight,index_kpool_compress_gate}", "index_head_dim hidden_size",
     kWhole, "full_attention optional"},
    {".self_attn.indexer.k_norm.{weight,bias}", "index_head_dim", kWhole,
     "full_attention optional"},
    {".self_attn.indexer.weights_proj.weight", "index_n_heads hidden_size", kWhole,
     "full_attention optional"},
    {".self_attn.indexer.index_kpool_compress_ape", "index_kpool index_head_dim", kWhole,
     "full_attention optional"},
}); });
constexpr auto kGlm5Names = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.hc_attn_{base,fn,scale}", "blk.{}.hc_attn_{base,fn,scale}.weight", kNone,
     Store::kF32},
    {"model.layers.{}.hc_ffn_{base,fn,scale}", "blk.{}.hc_ffn_{base,fn,scale}.weight", kNone,
     Store::kF32},
    {"model.layers.{}.self_attn.indexer.{k_norm,wk,wq_b}",
     "blk.{}.indexer.{k_norm,attn_k,attn_q_b}"},
    {"model.layers.{}.self_attn.indexer.weights_proj", "blk.{}.indexer.proj", kNone, Store::kF32},
    {"model.layers.{}.self_attn.indexer.index_kpool_compress_{ape,gate}",
     "blk.{}.indexer_compressor_{ape,gate}.weight", kNone, Store::kF32},
}); });
constexpr auto kGlm5Keys = spread([] { return std::to_array<KeyRule>({
    {"attention.head_count_kv",      kArray, "1", kAttentionHeads},
    {"vocab_size",                   kU32, "vocab_size"},
    {"attention.layer_norm_epsilon", kF32, "1e-6", kConstant},
    {"nextn_predict_layers",         kU32, "", kNextnLayers},
    {"ssm.conv_kernel",              kU32, "linear_attn_config.short_conv_kernel_size", kNumber},
    {"kda.head_dim",                 kU32, "linear_attn_config.head_dim", kNumber},
    {"kda.gate_lower_bound",         kF32, "linear_attn_config.gate_lower_bound"},
    {"attention.{q,kv}_lora_rank",   kU32, "{q,kv}_lora_rank", kNumber},
    {"rope.dimension_count",         kU32, "qk_rope_head_dim", kNumber},
    {"attention.{key,value}_length", kU32, "kv_lora_rank", kNumber},
    {"attention.{key,value}_length_mla", kU32, "{qk_nope,v}_head_dim", kNumber},
    {"attention.indexer.{head_count,key_length,top_k,kpool}", kU32,
     "index_{n_heads,head_dim,topk,kpool}", kNumber},
    {"attention.indexer.kpool_select_tail", kBool, "index_kpool_always_select_tail"},
    {"attention.indexer.types",      kArray,
     "indexer_types index_topk_pattern index_topk_freq index_skip_topk_offset", kFullLayers},
    {"hyper_connection.{count,sinkhorn_iterations}", kU32, "hc_{mult,sinkhorn_iters}", kNumber},
    {"hyper_connection.epsilon",     kF32, "hc_eps"},
    {"leading_dense_block_count",    kU32, "first_k_dense_replace", kNumber},
    {"expert_{feed_forward_length,shared_count}", kU32, "{moe_intermediate_size,n_shared_experts}",
     kNumber},
    {"expert_weights_scale",         kF32, "routed_scaling_factor"},
    {"expert_weights_norm",          kBool, "norm_topk_prob"},
    {"swiglu_clamp_{exp,shexp}",     kArray, "swiglu_limit", kLimits},
}); });
// Counts the dense layers at the start of mlp_layer_types, for a config.json without
// first_k_dense_replace.
Result<uint64_t> listed_dense(const Fields& fields) {
  const JsonValue types = list_in(fields.config(), "mlp_layer_types");
  if (types.empty()) return 3;
  return static_cast<uint64_t>(std::ranges::find(types, JsonValue("sparse")) - types.begin());
}
constexpr ClassDefault kGlm5Defaults[] = {
    {"vocab_size", "154880"}, {"hidden_size", "4096"}, {"intermediate_size", "12288"},
    {"moe_intermediate_size", "2048"}, {"num_hidden_layers", "45"}, {"num_attention_heads", "64"},
    rows::kAllKeyHeads, {"n_shared_experts", "1"}, {"n_routed_experts", "288"},
    {"num_experts_per_tok", "8", kInKeys}, {"routed_scaling_factor", "2.5", kInKeys},
    {"n_group", "1", kInKeys}, {"topk_group", "1", kInKeys}, {"norm_topk_prob", "1", kInKeys},
    {"kv_lora_rank", "512"}, {"q_lora_rank", "1536"}, {"qk_rope_head_dim", "0"},
    {"qk_nope_head_dim", "256"}, {"v_head_dim", "256"}, {"rms_norm_eps", "1e-5", kInKeys},
    {"max_position_embeddings", "1048576", kInKeys}, {"swiglu_limit", "10", kInKeys},
    {"index_n_heads", "32"}, {"index_head_dim", "128"}, {"index_topk", "2048"},
    {"index_kpool", "16"}, {"index_kpool_always_select_tail", "1", kInKeys}, {"hc_mult", "4"},
    {"hc_sinkhorn_iters", "20"}, {"hc_eps", "1e-6", kInKeys}, rows::kAllSparse,
    {"full_attention_interval", "4", kInShapes}, rows::kDeltaWidth,
    {"linear_attn_config.head_dim", "linear_head_dim", kInShapes},
    {"linear_attn_config.num_heads", "linear_num_heads", kInShapes},
    {"linear_attn_config.short_conv_kernel_size", "linear_conv_kernel_dim", kInShapes},
    {"linear_head_dim", "128", kInShapes}, {"linear_num_heads", "64", kInShapes},
    {"linear_conv_kernel_dim", "4", kInShapes},
    {.field = "first_k_dense_replace", .value = "", .read_by = kInShapes, .compute = listed_dense},
};
// clang-format on

// The forms at which the converter stops.
bool is_other_form(const JsonValue& config) {
  const JsonValue* linear = known(config, "linear_attn_config");
  const auto is_denied = [&](std::string_view field) {
    const JsonValue* value = known(config, field);
    return value != nullptr && !is_truthy(value);
  };
  const JsonValue* heads = known(config, "num_attention_heads");
  return linear == nullptr || is_denied("mla_use_nope") || is_denied("mhc") ||
         (heads != nullptr && count_in(*linear, "num_heads") != whole(*heads)) ||
         count_in(config, "qk_rope_head_dim") != 0;
}
constexpr FamilyVariant kGlm5Variants[] = {
    {is_other_form, nullptr,
     "GLM-5 Next with qk_rope_head_dim, without mhc, mla_use_nope or linear_attn_config, or with "
     "num_heads there that are not num_attention_heads"}};

// The keys of a GGUF give one key head to each layer with attention, and a limit to each block.
void add_glm5_fields(const GraphConfig& made) {
  JsonValue& config = made.config;
  config["model_type"] = "glm5_next";
  config["num_key_value_heads"] = count_in(config, "num_attention_heads");
  config["linear_attn_config"]["num_heads"] = count_in(config, "num_attention_heads");
  const JsonValue limits = list_in(config, "swiglu_limit");
  if (!limits.empty()) config["swiglu_limit"] = limits[0];
}

}  // namespace

const Family kGlm5Next = {
    .name = "glm5-next",
    .architectures = "Glm5NextForConditionalGeneration",
    .model_types = "glm5_next_text glm5_next",
    .traits = {.text = {.set = {kActivationSilu, kListsMlpTypes, kLatentsOfQueries},
                        .layer_types = {"linear_attention", "indexed_attention"}}},
    .names = {kGlm5Names, rows::kDeltaNames, rows::kNextnNames, rows::kRoutedExpertNames,
              rows::kExpertNames, rows::kCommonNames},
    .keys = kGlm5Keys,
    .keys_around = {.own_spellings = "n_routed_experts num_experts_per_tok scoring_func"},
    .defaults = kGlm5Defaults,
    .parameters = {rows::kFrame, kGlm5Rows, rows::kDelta, rows::kDeltaGates, rows::kLatentQueries,
                   rows::kDeltaLatent, rows::kMlp, rows::kRoutedExperts, rows::kNextn},
    .forms = {.variants = kGlm5Variants},
    .sizes = {.ignores_head_dim = true},
    .drafts = {.are_behind = true, .nextn = NextnLayers::kKept},
    .head = {.is_dropped_if_tied = true},
    .tokenizer = {.special_tokens = kGlmTokenizer.special_tokens, .is_after_v050 = true},
    .graph = {.constants = {{"mla_use_nope", "true"}, {"mhc", "true"}},
              .add_fields = add_glm5_fields},
    .mixtures = {.copied = "hc_ indexer.attn_q_b indexer.attn_k indexer.proj indexer_compressor_"
                           " ssm_f_a.weight ssm_f_b.weight ssm_g_a.weight ssm_g_b.weight"
                           " ssm_beta.weight attn_kv_a_mqa.weight attn_k_b.weight attn_v_b.weight",
                 .at_least_q8_0 = "attn_q_a attn_q_b nextn.eh_proj"},
};

}  // namespace ckpt
