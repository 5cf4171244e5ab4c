// Jamba: Mamba 1 with norms of its own, attention without rotation in each attn_layer_period-th
// layer, experts in each expert_layer_period-th.
//
// Sources: llama.cpp conversion/jamba.py; transformers models/jamba. One expert is an MLP.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kJambaRows = spread([] { return std::to_array<ParameterRule>({
    {"model.embed_tokens.weight",    "vocab_size hidden_size"},
    {"model.final_layernorm.weight", "hidden_size"},
    {"lm_head.weight",               "vocab_size hidden_size", kWhole, "head"},
    {".{input,pre_ff}_layernorm.weight", "hidden_size"},
    {".mamba.A_log",                 "mamba_expand*hidden_size mamba_d_state", kRows, "mamba"},
    {".mamba.D",                     "mamba_expand*hidden_size", kRows, "mamba"},
    {".mamba.in_proj.weight",        "2*mamba_expand*hidden_size hidden_size", kRows, "mamba"},
    {".mamba.in_proj.bias",          "2*mamba_expand*hidden_size", kRows, "mamba mamba_proj_bias"},
    {".mamba.conv1d.weight",         "mamba_expand*hidden_size 1 mamba_d_conv", kRows, "mamba"},
    {".mamba.conv1d.bias",           "mamba_expand*hidden_size", kRows, "mamba mamba_conv_bias"},
    {".mamba.x_proj.weight",
     "mamba_dt_rank+2*mamba_d_state mamba_expand*hidden_size", kColumns, "mamba"},
    {".mamba.dt_proj.weight",        "mamba_expand*hidden_size mamba_dt_rank", kRows, "mamba"},
    {".mamba.dt_proj.bias",          "mamba_expand*hidden_size", kRows, "mamba"},
    {".mamba.dt_layernorm.weight",   "mamba_dt_rank", kWhole, "mamba"},
    {".mamba.{b,c}_layernorm.weight", "mamba_d_state", kWhole, "mamba"},
    {".mamba.out_proj.weight",       "hidden_size mamba_expand*hidden_size", kColumns, "mamba"},
    {".mamba.out_proj.bias",         "hidden_size", kWhole, "mamba mamba_proj_bias"},
    {".feed_forward.{gate,up}_proj.weight", "intermediate_size hidden_size", kRows, "dense"},
    {".feed_forward.down_proj.weight", "hidden_size intermediate_size", kColumns, "dense"},
    {".feed_forward.router.weight",    "num_experts hidden_size", kWhole, "sparse"},
    {".feed_forward.experts.{}.gate_proj.weight", "intermediate_size hidden_size", kRows, "sparse"},
    {".feed_forward.experts.{}.up_proj.weight",   "intermediate_size hidden_size", kRows, "sparse"},
    {".feed_forward.experts.{}.down_proj.weight", "hidden_size intermediate_size", kColumns,
     "sparse"},
}); });
constexpr auto kJambaNames = spread([] { return std::to_array<NameRule>({
    {"model.final_layernorm",                        "output_norm"},
    {"model.layers.{}.pre_ff_layernorm",             "blk.{}.ffn_norm"},
    {"model.layers.{}.mamba.A_log",                  "blk.{}.ssm_a", kNegExp},
    {"model.layers.{}.mamba.{D,in_proj}", "blk.{}.ssm_{d,in}"},
    {"model.layers.{}.mamba.conv1d.weight",          "blk.{}.ssm_conv1d.weight", kSqueeze,
     Store::kF32},
    {"model.layers.{}.mamba.conv1d.bias",            "blk.{}.ssm_conv1d.bias"},
    {"model.layers.{}.mamba.{x_proj,dt_proj,dt_layernorm,b_layernorm,c_layernorm,out_proj}",
     "blk.{}.ssm_{x,dt,dt_norm,b_norm,c_norm,out}"},
    {"model.layers.{}.feed_forward.router",          "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.feed_forward.experts.{}.{down,gate,up}_proj",
     "blk.{}.ffn_{down,gate,up}_exps", kExpert},
    {"model.layers.{}.feed_forward.{gate,up,down}_proj", "blk.{}.ffn_{gate,up,down}"},
}); });
constexpr auto kJambaKeys = spread([] { return std::to_array<KeyRule>({
    {"block_count",             kU32, "", kBlockCount},
    {"context_length",          kU32, "max_position_embeddings"},
    {"{embedding,feed_forward}_length", kU32, "{hidden,intermediate}_size"},
    {"attention.head_count",    kU32, "num_attention_heads"},
    {"attention.head_count_kv", kArray, "num_key_value_heads", kAttentionHeads},
    {"ssm.conv_kernel",         kU32, "mamba_d_conv"},
    {"ssm.inner_size",          kU32, "mamba_expand*hidden_size", kNumber},
    {"ssm.state_size",          kU32, "mamba_d_state"},
    {"ssm.time_step_rank",      kU32, "mamba_dt_rank", kNumber},
    {"attention.layer_norm_rms_epsilon", kF32, "rms_norm_eps"},
    {"expert_{count,used_count}", kU32, "num_{experts,experts_per_tok}"},
    {"general.file_type",       kU32, "", kFileType},
}); });
Result<uint64_t> dense_layers_of_jamba(const Fields& fields) {
  CKPT_ASSIGN(const uint64_t experts, fields.count("num_experts"));
  return experts > 1 ? 0 : fields.count("num_hidden_layers");
}
constexpr ClassDefault kJambaDefaults[] = {
    {"vocab_size", "65536"}, {"hidden_size", "4096"}, {"intermediate_size", "14336"},
    {"num_hidden_layers", "32"}, {"num_attention_heads", "32"}, rows::key_heads("8"),
    {"rms_norm_eps", "1e-6", kInKeys}, {"max_position_embeddings", "262144", kInKeys},
    {"num_experts", "16"}, {"num_experts_per_tok", "2", kInKeys},
    {"expert_layer_period", "2"}, {"expert_layer_offset", "1"},
    {"attn_layer_period", "8"}, {"attn_layer_offset", "4"},
    {"mamba_d_state", "16"}, {"mamba_d_conv", "4"}, {"mamba_expand", "2"},
    {"mamba_dt_rank", "hidden_size/16"}, {"mamba_conv_bias", "1", kInShapes},
    rows::kHeadOfWidth, rows::kAllSparse,
    {.field = "first_k_dense_replace", .value = "", .compute = dense_layers_of_jamba},
};
// clang-format on

// Fields NAME_period and NAME_offset for the layers that `list` calls `word`.
void set_period(JsonValue& config, const char* list, const char* word, const std::string& name) {
  std::vector<uint64_t> places;
  for (uint64_t i = 0; i < config[list].size(); ++i) {
    if (config[list][i] == word) places.push_back(i);
  }
  const uint64_t count = config[list].size();
  config[name + "_period"] = places.size() < 2 ? count : places[1] - places[0];
  config[name + "_offset"] = places.empty() ? 0 : places[0];
  config.erase(list);
}
void set_periods(const GraphConfig& made) {
  set_period(made.config, "layer_types", "full_attention", "attn_layer");
  set_period(made.config, "mlp_layer_types", "sparse", "expert_layer");
}

}  // namespace

const Family kJamba = {
    .name = "jamba",
    .architectures = "JambaForCausalLM",
    .model_types = "jamba",
    .traits = {.text = {.set = {kListsMlpTypes, kAsksNothingOfRope},
                        .layer_types = {"linear_attention"},
                        .told_fields = {{"mamba_conv_bias", "ssm_conv1d.bias"},
                                        {"mamba_proj_bias", "ssm_in.bias"}}}},
    .names = {kJambaNames, rows::kCommonNames},
    .keys = kJambaKeys,
    .keys_around = {.has_common = false},
    .defaults = kJambaDefaults,
    .parameters = {kJambaRows, rows::kFullAttention},
    .tokenizer = {.piece_file = PieceFile::kPreferred, .byte_fallback = ByteFallback::kAsLlama},
    .graph = {.add_fields = set_periods},
};

}  // namespace ckpt
