// Ling 3.0: Kimi Delta Attention (KDA) without its low-rank products, and latent attention (MLA) in
// the last layer of each group and in the layers behind the last whole group; a gate for each head.
//
// Sources: llama.cpp conversion/bailingmoe3.py, which fills in no defaults of the class and refuses
// the other forms of KDA. g_proj is the gate of both kinds of layers.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kLing3Frame = spread([] { return std::to_array<ParameterRule>({
    {"model.word_embeddings.weight",     "vocab_size hidden_size"},
    {"model.norm.weight",                "hidden_size"},
    {"lm_head.weight",                   "vocab_size hidden_size", kWhole, "head"},
    {".{input,post_attention}_layernorm.weight", "hidden_size"},
    {".mlp.gate.weight",                 "num_experts hidden_size", kWhole, "sparse"},
    {".mlp.gate.expert_bias", "num_experts", kWhole, "sparse moe_router_enable_expert_bias"},
    {".final_layernorm.weight",          "hidden_size", kWhole, "nextn"},
}); });
constexpr auto kLing3Delta = spread([] { return rows::under("linear_attention", {
    {".attention.{q,k,v}_proj.weight", "num_attention_heads*head_dim hidden_size", kRows},
    {".attention.{q,k,v}_conv1d.weight", "num_attention_heads*head_dim 1 short_conv_kernel_size",
     kRows},
    {".attention.A_log",           "num_attention_heads"},
    {".attention.dt_bias",         "num_attention_heads*head_dim", kRows},
    {".attention.b_proj.weight",   "num_attention_heads hidden_size", kRows},
    {".attention.{f,g}_proj.weight", "num_attention_heads*head_dim hidden_size", kRows},
    {".attention.o_norm.weight",   "head_dim"},
    {".attention.o_proj.weight",   "hidden_size num_attention_heads*head_dim", kColumns},
}); });
constexpr ParameterRule kLing3Latent[] = {
    {".attention.q_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*qk_rope_head_dim hidden_size", kRows,
     "full_attention optional"},  // in the place of q_a and q_b where q_lora_rank is null
    {".attention.q_a_proj.weight",       "q_lora_rank hidden_size", kRows,
     "full_attention q_lora_rank"},
    {".attention.q_a_layernorm.weight",  "q_lora_rank", kWhole, "full_attention q_lora_rank"},
    {".attention.q_b_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*qk_rope_head_dim q_lora_rank", kRows,
     "full_attention q_lora_rank"},
    {".attention.kv_a_proj_with_mqa.weight", "kv_lora_rank+qk_rope_head_dim hidden_size", kRows,
     "full_attention"},
    {".attention.kv_a_layernorm.weight", "kv_lora_rank", kWhole, "full_attention"},
    {".attention.kv_b_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*v_head_dim kv_lora_rank", kRows,
     "full_attention"},
    {".attention.g_proj.weight",         "num_attention_heads hidden_size", kRows,
     "full_attention"},
    {".attention.dense.weight",          "hidden_size num_attention_heads*v_head_dim", kColumns,
     "full_attention"},
};
constexpr auto kLing3Names = spread([] { return std::to_array<NameRule>({
    {"model.word_embeddings",                     "token_embd"},
    {"model.layers.{}.attention.{q_proj,k_proj,v_proj,o_proj,dense}",
     "blk.{}.attn_{q,k,v,output,output}"},
    {"model.layers.{}.attention.A_log",           "blk.{}.ssm_a", kExpColumn},
    {"model.layers.{}.attention.dt_bias",         "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.attention.{q,k,v}_conv1d.weight", "blk.{}.ssm_conv1d_{q,k,v}.weight",
     kConvolutionRows, Store::kF32},
    {"model.layers.{}.attention.{b,f}_proj", "blk.{}.ssm_{beta,f_a}"},
    {"model.layers.{}.attention.g_proj.weight",   "blk.{}.ssm_g_a.weight", kByMixer,
     Store::kByRules, "blk.{}.attn_gate.weight"},
    {"model.layers.{}.attention.o_norm",          "blk.{}.ssm_norm"},
    {"model.layers.{}.attention.{q_a_proj,q_b_proj,q_a_layernorm,kv_a_proj_with_mqa}",
     "blk.{}.attn_{q_a,q_b,q_a_norm,kv_a_mqa}"},
    {"model.layers.{}.attention.kv_a_layernorm",  "blk.{}.attn_kv_a_norm"},
    {"model.layers.{}.attention.kv_b_proj.weight", "blk.{}.attn_k_b.weight", kKeyValue,
     Store::kByRules, "blk.{}.attn_v_b.weight"},
    {"model.layers.{}.mlp.gate.expert_bias",      "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.final_layernorm",           "blk.{}.layer_output_norm"},
}); });
constexpr auto kLing3Keys = spread([] { return std::to_array<KeyRule>({
    {"attention.head_count_kv",           kArray, "1", kAttentionHeads},
    {"vocab_size",                        kU32, "vocab_size"},
    {"ssm.conv_kernel",                   kU32, "short_conv_kernel_size", kNumber},
    {"kda.head_dim",                      kU32, "head_dim", kNumber},
    {"kda.safe_gate",                     kBool, "kda_safe_gate"},
    {"kda.gate_lower_bound",              kF32, "kda_lower_bound"},
    {"attention.q_lora_rank",             kU32, "q_lora_rank"},
    {"attention.kv_lora_rank",            kU32, "kv_lora_rank", kNumber},
    {"rope.dimension_count",              kU32, "qk_rope_head_dim", kNumber},
    {"attention.key_length",              kU32, "kv_lora_rank+qk_rope_head_dim", kNumber},
    {"attention.key_length_mla",          kU32, "qk_nope_head_dim+qk_rope_head_dim", kNumber},
    {"attention.value_length_mla",        kU32, "v_head_dim", kNumber},
    {"expert_feed_forward_length",        kU32, "moe_intermediate_size", kNumber},
    {"expert_shared_feed_forward_length", kU32, "moe_shared_expert_intermediate_size", kNumber},
    {"expert_shared_count",               kU32, "num_shared_experts", kNumber},
    {"leading_dense_block_count",         kU32, "first_k_dense_replace", kNumber},
    {"expert_weights_scale",              kF32, "routed_scaling_factor"},
    {"expert_weights_norm",               kBool, "norm_topk_prob"},
    {"swiglu_clamp_{exp,shexp}", kArray, "{expert,share_expert}_swiglu_limit_list", kLimits},
    {"nextn_predict_layers",              kU32, "", kNextnLayers},
}); });
// The class is published with the models alone, and its defaults are not known: a configuration has
// to state all sizes. These rows give fields the names that other families have for them.
constexpr auto kLing3Defaults = rows::in_shapes({
    {"full_attention_interval", "layer_group_size"},
    {"linear_num_value_heads", "num_attention_heads"},
    {"linear_num_key_heads", "num_attention_heads"},
    {"linear_value_head_dim", "head_dim"}, {"linear_key_head_dim", "head_dim"},
    {"linear_conv_kernel_dim", "short_conv_kernel_size"},
    {"moe_router_enable_expert_bias", "1"}, {"n_shared_experts", "num_shared_experts"},
    rows::kAllSparse,
});
constexpr rows::Rules kLing3Nextn = std::span(rows::kNextn).first(3);
// clang-format on

bool has_other_delta(const JsonValue& config) {
  return !is_truthy(known(config, "no_kda_lora")) || !is_truthy(known(config, "kda_safe_gate")) ||
         text_in(config, "gated_attention_proj_granularity_type") != "head_wise";
}

// The keys of a GGUF give one key head to each layer with attention.
void add_group_size(const GraphConfig& made) {
  JsonValue& config = made.config;
  config["num_key_value_heads"] = count_in(config, "num_attention_heads");
  const JsonValue types = config["layer_types"];
  const auto full = std::ranges::find(types, JsonValue("full_attention"));
  config["layer_group_size"] = static_cast<uint64_t>(full - types.begin()) + 1;
  config.erase("layer_types");
}

constexpr FamilyVariant kLing3Variants[] = {
    {has_other_delta, nullptr,
     "Kimi Delta Attention of another form than no_kda_lora, kda_safe_gate and head_wise gates"}};

}  // namespace

const Family kBailingMoe3 = {
    .name = "bailingmoe3",
    .architectures = "BailingMoeV3ForCausalLM",
    .model_types = "bailing_moe_v3",
    .traits = {.text = {.layer_types = {"linear_attention"}}},
    .names = {kLing3Names, rows::kNextnNames, rows::kRoutedExpertNames, rows::kExpertNames,
              rows::kCommonNames},
    .keys = kLing3Keys,
    .keys_around = {.own_spellings = "intermediate_size num_experts score_function"},
    .defaults = kLing3Defaults,
    .parameters = {kLing3Frame, kLing3Delta, kLing3Latent, rows::kMlp, rows::kExpertProjections,
                   rows::kSharedExperts, kLing3Nextn},
    .forms = {.variants = kLing3Variants},
    .drafts = {.are_behind = true, .nextn = NextnLayers::kKept},
    .graph = {.constants = {{"no_kda_lora", "true"},
                            {"gated_attention_proj_granularity_type", "\"head_wise\""}},
              .add_fields = add_group_size},
};

}  // namespace ckpt
