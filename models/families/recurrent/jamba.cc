// Jamba: Mamba 1 with norms of its own, attention without rotation in each attn_layer_period-th
// layer, experts in each expert_layer_period-th.
//
// Sources: llama.cpp conversion/jamba.py; transformers models/jamba. One expert is an MLP.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kJambaRows[] = {
    {"model.embed_tokens.weight",    "vocab_size hidden_size"},
    {"model.final_layernorm.weight", "hidden_size"},
    {"lm_head.weight",               "vocab_size hidden_size", kWhole, "head"},
    {".input_layernorm.weight",      "hidden_size"},
    {".pre_ff_layernorm.weight",     "hidden_size"},
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
    {".mamba.b_layernorm.weight",    "mamba_d_state", kWhole, "mamba"},
    {".mamba.c_layernorm.weight",    "mamba_d_state", kWhole, "mamba"},
    {".mamba.out_proj.weight",       "hidden_size mamba_expand*hidden_size", kColumns, "mamba"},
    {".mamba.out_proj.bias",         "hidden_size", kWhole, "mamba mamba_proj_bias"},
    {".feed_forward.gate_proj.weight", "intermediate_size hidden_size", kRows, "dense"},
    {".feed_forward.up_proj.weight",   "intermediate_size hidden_size", kRows, "dense"},
    {".feed_forward.down_proj.weight", "hidden_size intermediate_size", kColumns, "dense"},
    {".feed_forward.router.weight",    "num_experts hidden_size", kWhole, "sparse"},
    {".feed_forward.experts.{}.gate_proj.weight", "intermediate_size hidden_size", kRows, "sparse"},
    {".feed_forward.experts.{}.up_proj.weight",   "intermediate_size hidden_size", kRows, "sparse"},
    {".feed_forward.experts.{}.down_proj.weight", "hidden_size intermediate_size", kColumns,
     "sparse"},
};
constexpr NameRule kJambaNames[] = {
    {"model.final_layernorm",                        "output_norm"},
    {"model.layers.{}.pre_ff_layernorm",             "blk.{}.ffn_norm"},
    {"model.layers.{}.mamba.A_log",                  "blk.{}.ssm_a", kNegExp},
    {"model.layers.{}.mamba.D",                      "blk.{}.ssm_d"},
    {"model.layers.{}.mamba.in_proj",                "blk.{}.ssm_in"},
    {"model.layers.{}.mamba.conv1d.weight",          "blk.{}.ssm_conv1d.weight", kSqueeze,
     Store::kF32},
    {"model.layers.{}.mamba.conv1d.bias",            "blk.{}.ssm_conv1d.bias"},
    {"model.layers.{}.mamba.x_proj",                 "blk.{}.ssm_x"},
    {"model.layers.{}.mamba.dt_proj",                "blk.{}.ssm_dt"},
    {"model.layers.{}.mamba.dt_layernorm",           "blk.{}.ssm_dt_norm"},
    {"model.layers.{}.mamba.b_layernorm",            "blk.{}.ssm_b_norm"},
    {"model.layers.{}.mamba.c_layernorm",            "blk.{}.ssm_c_norm"},
    {"model.layers.{}.mamba.out_proj",               "blk.{}.ssm_out"},
    {"model.layers.{}.feed_forward.router",          "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.feed_forward.experts.{}.down_proj", "blk.{}.ffn_down_exps", kExpert},
    {"model.layers.{}.feed_forward.experts.{}.gate_proj", "blk.{}.ffn_gate_exps", kExpert},
    {"model.layers.{}.feed_forward.experts.{}.up_proj",   "blk.{}.ffn_up_exps", kExpert},
    {"model.layers.{}.feed_forward.gate_proj",       "blk.{}.ffn_gate"},
    {"model.layers.{}.feed_forward.up_proj",         "blk.{}.ffn_up"},
    {"model.layers.{}.feed_forward.down_proj",       "blk.{}.ffn_down"},
};
constexpr KeyRule kJambaKeys[] = {
    {"block_count",             kU32, "", kBlockCount},
    {"context_length",          kU32, "max_position_embeddings"},
    {"embedding_length",        kU32, "hidden_size"},
    {"feed_forward_length",     kU32, "intermediate_size"},
    {"attention.head_count",    kU32, "num_attention_heads"},
    {"attention.head_count_kv", kArray, "num_key_value_heads", kAttentionHeads},
    {"ssm.conv_kernel",         kU32, "mamba_d_conv"},
    {"ssm.inner_size",          kU32, "mamba_expand*hidden_size", kNumber},
    {"ssm.state_size",          kU32, "mamba_d_state"},
    {"ssm.time_step_rank",      kU32, "mamba_dt_rank", kNumber},
    {"attention.layer_norm_rms_epsilon", kF32, "rms_norm_eps"},
    {"expert_count",            kU32, "num_experts"},
    {"expert_used_count",       kU32, "num_experts_per_tok"},
    {"general.file_type",       kU32, "", kFileType},
};
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
