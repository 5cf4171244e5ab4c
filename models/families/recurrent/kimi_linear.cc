// Kimi Linear: Kimi Delta Attention (KDA), recurrent layers with a convolution for each of q, k and
// v, between layers of latent attention (MLA) without rotation; experts from a layer on. Kimi K3,
// whose text part has the same class: gates of full rank, experts in a narrower space, and layers
// that read the results of earlier ones.
//
// Sources: llama.cpp conversion/{kimi_linear,kimi_k3}.py, which read config.json as it stands;
// transformers models/kimi_linear. The layers are listed from 1 on, and a list says 1 for those
// with attention.
#include "models/families/recurrent/delta_rows.h"

namespace ckpt {

extern const std::string_view kKimiK3Chat;  // data/chat/kimi_k3.json

namespace {

// clang-format off
constexpr auto kKimiDecay = rows::under("linear_attention", {
    {".self_attn.A_log", "1 1 linear_attn_config.num_heads 1"},
});
constexpr auto kKimiQueries = rows::under("full_attention", {
    {".self_attn.q_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*qk_rope_head_dim hidden_size",
     kRows},
});
constexpr auto kKimiExperts = spread([] { return rows::under("sparse", {
    {".block_sparse_moe.gate.weight", "num_experts hidden_size"},
    {".block_sparse_moe.gate.e_score_correction_bias", "num_experts"},
    {".block_sparse_moe.experts.{}.w1.weight", "moe_intermediate_size hidden_size", kRows},
    {".block_sparse_moe.experts.{}.w2.weight", "hidden_size moe_intermediate_size", kColumns},
    {".block_sparse_moe.experts.{}.w3.weight", "moe_intermediate_size hidden_size", kRows},
    {".block_sparse_moe.shared_experts.{gate,up}_proj.weight",
     "num_shared_experts*moe_intermediate_size hidden_size", kRows},
    {".block_sparse_moe.shared_experts.down_proj.weight",
     "hidden_size num_shared_experts*moe_intermediate_size", kColumns},
}); });
constexpr NameRule kKimiRouterNames[] = {
    {"model.layers.{}.block_sparse_moe.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
};
constexpr KeyRule kKimiLinearKeys[] = {
    {"attention.head_count_kv",    kArray, "1", kAttentionHeads},
    {"vocab_size",                 kU32, "vocab_size"},
    {"ssm.conv_kernel",            kU32, "linear_attn_config.short_conv_kernel_size", kNumber},
    {"kda.head_dim",               kU32, "linear_attn_config.head_dim", kNumber},
    {"attention.kv_lora_rank",     kU32, "kv_lora_rank", kNumber},
    {"rope.dimension_count",       kU32, "qk_rope_head_dim", kNumber},
    {"attention.key_length",       kU32, "kv_lora_rank+qk_rope_head_dim", kNumber},
    {"attention.key_length_mla",   kU32, "qk_nope_head_dim+qk_rope_head_dim", kNumber},
    {"attention.value_length_mla", kU32, "v_head_dim", kNumber},
    {"expert_feed_forward_length", kU32, "moe_intermediate_size", kNumber},
    {"expert_shared_count",        kU32, "num_shared_experts", kNumber},
    {"leading_dense_block_count",  kU32, "first_k_dense_replace", kNumber},
    {"expert_weights_scale",       kF32, "routed_scaling_factor"},
};
constexpr auto kKimiLinearDefaults = rows::in_shapes({
    rows::kDeltaWidth,
    {"linear_attn_config.short_conv_kernel_size", "linear_conv_kernel_dim"},
    {"linear_attn_config.head_dim", "linear_head_dim"}, {"linear_head_dim", "128"},
    {"linear_attn_config.num_heads", "linear_num_heads"}, {"linear_num_heads", "32"},
    {"linear_conv_kernel_dim", "4"},
    {"vocab_size", "163840"}, {"hidden_size", "2304"}, {"intermediate_size", "9216"},
    {"moe_intermediate_size", "1024"}, {"num_hidden_layers", "27"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"num_experts", "256"}, {"num_shared_experts", "1"},
    {"kv_lora_rank", "512"},
    {"qk_rope_head_dim", "64"}, {"qk_nope_head_dim", "128"}, {"v_head_dim", "128"},
    {"first_k_dense_replace", "1"}, rows::kAllSparse,
});
constexpr ParameterRule kKimiK3Gates[] = {
    {".self_attn.A_log", "linear_attn_config.num_heads", kWhole, "linear_attention"},
    {".self_attn.g_proj.weight", "linear_width hidden_size", kRows, "linear_attention"},
    {".self_attn.g_proj.weight", "num_attention_heads*v_head_dim hidden_size", kRows,
     "full_attention"},
};
constexpr auto kKimiK3Rows = spread([] { return std::to_array<ParameterRule>({
    {"model.output_attn_res_norm.weight", "hidden_size"},
    {"model.output_attn_res_proj.weight", "1 hidden_size"},
    {".{self_attention,mlp}_res_norm.weight", "hidden_size"},
    {".{self_attention,mlp}_res_proj.weight", "1 hidden_size"},
    {".block_sparse_moe.gate.weight", "num_experts hidden_size", kWhole, "sparse"},
    {".block_sparse_moe.gate.e_score_correction_bias", "num_experts", kWhole, "sparse"},
    {".block_sparse_moe.experts.{}.w1.weight", "moe_intermediate_size routed_expert_hidden_size",
     kRows, "sparse"},
    {".block_sparse_moe.experts.{}.w2.weight", "routed_expert_hidden_size moe_intermediate_size",
     kColumns, "sparse"},
    {".block_sparse_moe.experts.{}.w3.weight", "moe_intermediate_size routed_expert_hidden_size",
     kRows, "sparse"},
    {".block_sparse_moe.routed_expert_down_proj.weight", "routed_expert_hidden_size hidden_size",
     kWhole, "sparse"},
    {".block_sparse_moe.routed_expert_norm.weight", "routed_expert_hidden_size", kWhole,
     "sparse latent_moe_use_norm"},
    {".block_sparse_moe.routed_expert_up_proj.weight", "hidden_size routed_expert_hidden_size",
     kWhole, "sparse"},
}); });
constexpr auto kKimiK3Names = spread([] { return std::to_array<NameRule>({
    {"model.output_attn_res_{norm,proj}.weight", "output_res_score.weight", kProduct},
    {"model.layers.{}.self_attention_res_{norm,proj}.weight", "blk.{}.attn_res_score.weight",
     kProduct},
    {"model.layers.{}.mlp_res_{norm,proj}.weight", "blk.{}.ffn_res_score.weight", kProduct},
    {"model.layers.{}.self_attn.g_proj", "blk.{}.ssm_g", kByMixer, Store::kByRules,
     "blk.{}.attn_gate"},
    {"model.layers.{}.block_sparse_moe.routed_expert_{down_proj,norm,up_proj}",
     "blk.{}.ffn_routed_{down,norm,up}"},
}); });
constexpr auto kKimiK3Keys = spread([] { return std::to_array<KeyRule>({
    {"general.file_type",          kU32, "38", kNumber},  // the first key: of MXFP4 experts alone
    {"vocab_size",                 kU32, "vocab_size"},
    {"attention.head_count_kv",    kArray, "1", kAttentionHeads},
    {"ssm.conv_kernel",            kU32, "linear_attn_config.short_conv_kernel_size", kNumber},
    {"kda.head_dim",               kU32, "linear_attn_config.head_dim", kNumber},
    {"kda.gate_lower_bound",       kF32, "linear_attn_config.gate_lower_bound"},
    {"attention.{q,kv}_lora_rank", kU32, "{q,kv}_lora_rank", kNumber},
    {"rope.dimension_count",       kU32, "qk_rope_head_dim", kNumber},
    {"attention.key_length",       kU32, "kv_lora_rank+qk_rope_head_dim", kNumber},
    {"attention.value_length",     kU32, "kv_lora_rank", kNumber},
    {"attention.key_length_mla",   kU32, "qk_nope_head_dim+qk_rope_head_dim", kNumber},
    {"attention.value_length_mla", kU32, "v_head_dim", kNumber},
    {"expert_feed_forward_length", kU32, "moe_intermediate_size", kNumber},
    {"expert_shared_count",        kU32, "num_shared_experts", kNumber},
    {"leading_dense_block_count",  kU32, "first_k_dense_replace", kNumber},
    {"expert_weights_scale",       kF32, "routed_scaling_factor"},
    {"expert_weights_norm",        kBool, "moe_renormalize"},
    {"expert_latent_length",       kU32, "routed_expert_hidden_size"},
    {"activation.situ_{beta,linear_beta}", kF32, "activation_situ_{beta,linear_beta}"},
    {"attn_res.block_size",        kU32, "attn_res_block_size", kNumber},
}); });
// clang-format on

constexpr Family kimi_k3(std::span<const KeyRule> keys) {
  return {
      .name = "kimi-k3",
      .architectures = "KimiK3ForConditionalGeneration",
      .model_types = "kimi_k3",
      .activation = {"situ"},
      .traits = {.text = {.layer_types = {"linear_attention"}}},
      .names = {kKimiK3Names, rows::kDeltaNames, kKimiRouterNames, rows::kSparseMoeNames,
                rows::kSharedMoeNames, rows::kCommonNames},
      .keys = keys,
      .defaults = kKimiLinearDefaults,
      .parameters = {rows::kFrame, rows::kDelta, kKimiK3Gates, rows::kLatentQueries,
                     rows::kDeltaLatent, rows::kMlp, kKimiK3Rows,
                     std::span(kKimiExperts).subspan(5)},
      .tokenizer = {.ranks = "kimi-k2",
                    .end_of_chat = "[EOS]",
                    .takes_eos_of_config = true,
                    .chat = {&kKimiK3Chat}},
  };
}
constexpr Family kKimiK3OfFloats = kimi_k3(std::span(kKimiK3Keys).subspan(1));
constexpr Family kKimiK3Text = kimi_k3(kKimiK3Keys);
bool has_float_experts(const JsonValue& config) {
  return text_in(known(config, "quantization_config"), "format") != "mxfp4-pack-quantized";
}
bool is_kimi_k3(const JsonValue& config) { return config.contains("attn_res_block_size"); }
bool is_kimi_k3_of_floats(const JsonValue& config) {
  return is_kimi_k3(config) && has_float_experts(config);
}
constexpr FamilyVariant kKimiK3Variants[] = {{has_float_experts, &kKimiK3OfFloats}};
constexpr FamilyVariant kKimiLinearVariants[] = {{is_kimi_k3_of_floats, &kKimiK3OfFloats},
                                                 {is_kimi_k3, &kKimiK3Text}};

// The lists of layers, and the number of heads: the keys of a GGUF count heads of queries alone.
void add_kimi_fields(const GraphConfig& made) {
  JsonValue& linear = made.config["linear_attn_config"];
  linear["num_heads"] = count_in(made.config, "num_attention_heads");
  made.config["num_key_value_heads"] = linear["num_heads"];
  linear["full_attn_layers"] = linear["kda_layers"] = JsonValue::array();
  const JsonValue types = made.config["layer_types"];
  for (uint64_t i = 0; i < types.size(); ++i) {
    linear[types[i] == "full_attention" ? "full_attn_layers" : "kda_layers"].push_back(i + 1);
  }
  made.config.erase("layer_types");
}

}  // namespace

const Family kKimiLinear = {
    .name = "kimi-linear",
    .architectures = "KimiLinearForCausalLM",
    .model_types = "kimi_linear",
    .traits = {.text = {.layer_types = {"linear_attention"}}},
    .names = {rows::kDeltaNames, kKimiRouterNames, rows::kSparseMoeNames, rows::kSharedMoeNames,
              rows::kCommonNames},
    .keys = kKimiLinearKeys,
    .keys_around = {.own_spellings = "model_max_length num_experts num_experts_per_token"
                                     " moe_router_activation_func"},
    .defaults = kKimiLinearDefaults,
    .parameters = {rows::kFrame, rows::kDelta, kKimiDecay, rows::kDeltaGates, kKimiQueries,
                   rows::kDeltaLatent, rows::kMlp, kKimiExperts},
    .forms = {.variants = kKimiLinearVariants},
    .tokenizer = {.ranks = "kimi-k2", .end_of_chat = "[EOS]"},
    .graph = {.constants = {{"moe_renormalize", "true"},
                            {"mla_use_nope", "true"},
                            {"moe_layer_freq", "1"},
                            {"num_expert_group", "1"},
                            {"use_grouped_topk", "true"}},
              .add_fields = add_kimi_fields},
};

const Family kKimiK3 = [] {
  Family made = kKimiK3Text;
  made.forms.variants = kKimiK3Variants;
  return made;
}();

}  // namespace ckpt
