// Kimi Linear: Kimi Delta Attention (KDA), recurrent layers with a convolution for each of q, k and
// v, between layers of latent attention (MLA) without rotation; experts from a layer on.
//
// Sources: llama.cpp conversion/kimi_linear.py, which reads config.json as it stands; transformers
// models/kimi_linear. The layers are listed from 1 on, and a list says 1 for those with attention.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kKimiDelta = spread([] { return rows::under("linear_attention", {
    {".self_attn.{q,k,v}_proj.weight", "linear_width hidden_size", kRows},
    {".self_attn.{q,k,v}_conv1d.weight", "linear_width 1 linear_kernel", kRows},
    {".self_attn.A_log",           "1 1 linear_attn_config.num_heads 1"},
    {".self_attn.dt_bias",         "linear_width", kRows},
    {".self_attn.b_proj.weight",   "linear_attn_config.num_heads hidden_size", kRows},
    {".self_attn.f_a_proj.weight", "linear_attn_config.head_dim hidden_size"},
    {".self_attn.f_b_proj.weight", "linear_width linear_attn_config.head_dim", kRows},
    {".self_attn.g_a_proj.weight", "linear_attn_config.head_dim hidden_size"},
    {".self_attn.g_b_proj.weight", "linear_width linear_attn_config.head_dim", kRows},
    {".self_attn.o_norm.weight",   "linear_attn_config.head_dim"},
    {".self_attn.o_proj.weight",   "hidden_size linear_width", kColumns},
}); });
constexpr auto kKimiLatent = rows::under("full_attention", {
    {".self_attn.q_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*qk_rope_head_dim hidden_size",
     kRows},
    {".self_attn.kv_a_proj_with_mqa.weight", "kv_lora_rank+qk_rope_head_dim hidden_size"},
    {".self_attn.kv_a_layernorm.weight", "kv_lora_rank"},
    {".self_attn.kv_b_proj.weight",
     "num_attention_heads*qk_nope_head_dim+num_attention_heads*v_head_dim kv_lora_rank", kRows},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*v_head_dim", kColumns},
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
constexpr auto kKimiLinearNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.self_attn.A_log",           "blk.{}.ssm_a", kNegExp},
    {"model.layers.{}.self_attn.dt_bias",         "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.self_attn.{q,k,v}_conv1d.weight", "blk.{}.ssm_conv1d_{q,k,v}.weight",
     kConvolutionRows, Store::kF32},
    {"model.layers.{}.self_attn.{b_proj,f_a_proj,f_b_proj,g_a_proj,g_b_proj,o_norm}",
     "blk.{}.ssm_{beta,f_a,f_b,g_a,g_b,norm}"},
    {"model.layers.{}.self_attn.kv_a_{proj_with_mqa,layernorm}", "blk.{}.attn_kv_a_{mqa,norm}"},
    {"model.layers.{}.self_attn.kv_b_proj.weight", "blk.{}.attn_k_b.weight", kKeyValue,
     Store::kByRules, "blk.{}.attn_v_b.weight"},
    {"model.layers.{}.block_sparse_moe.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
}); });
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
    {"linear_width", "linear_attn_config.num_heads*linear_attn_config.head_dim"},
    {"linear_kernel", "linear_attn_config.short_conv_kernel_size"},
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
// clang-format on

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
    .names = {kKimiLinearNames, rows::kSparseMoeNames, rows::kSharedMoeNames, rows::kCommonNames},
    .keys = kKimiLinearKeys,
    .keys_around = {.own_spellings = "model_max_length num_experts num_experts_per_token"
                                     " moe_router_activation_func"},
    .defaults = kKimiLinearDefaults,
    .parameters = {rows::kFrame, kKimiDelta, kKimiLatent, rows::kMlp, kKimiExperts},
    .tokenizer = {.ranks = "kimi-k2", .end_of_chat = "[EOS]"},
    .graph = {.constants = {{"moe_renormalize", "true"},
                            {"mla_use_nope", "true"},
                            {"moe_layer_freq", "1"},
                            {"num_expert_group", "1"},
                            {"use_grouped_topk", "true"}},
              .add_fields = add_kimi_fields},
};

}  // namespace ckpt
