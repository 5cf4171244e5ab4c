// Falcon-H1: every layer has attention and a Mamba 2 mixer, which read the same norm. Multipliers
// of config.json become part of the weights, so that a file has none.
//
// Sources: llama.cpp conversion/falcon_h1.py, mamba.py, which read config.json as it stands;
// transformers models/falcon_h1. The norm in front of the MLP has no suffix in GGUF.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kFalconH1Rows = spread([] { return std::to_array<ParameterRule>({
    {"model.embed_tokens.weight",    "vocab_size hidden_size"},
    {"model.final_layernorm.weight", "hidden_size"},
    {"lm_head.weight",               "vocab_size hidden_size", kWhole, "head"},
    {".{input,pre_ff}_layernorm.weight", "hidden_size"},
    {".mamba.{A_log,D,dt_bias}", "mamba_n_heads", kRows},
    {".mamba.in_proj.weight",
     "2*mamba_d_ssm+2*mamba_n_groups*mamba_d_state+mamba_n_heads hidden_size", kRows},
    {".mamba.conv1d.weight", "mamba_d_ssm+2*mamba_n_groups*mamba_d_state 1 mamba_d_conv", kRows},
    {".mamba.conv1d.bias", "mamba_d_ssm+2*mamba_n_groups*mamba_d_state", kRows, "mamba_conv_bias"},
    {".mamba.norm.weight",           "mamba_d_ssm", kRows, "mamba_rms_norm"},
    {".mamba.out_proj.weight",       "hidden_size mamba_d_ssm", kColumns},
    {".feed_forward.{gate,up}_proj.weight", "intermediate_size hidden_size", kRows},
    {".feed_forward.down_proj.weight", "hidden_size intermediate_size", kColumns},
}); });
constexpr NameRule kFalconH1Names[] = {
    {.from = "lm_head", .to = "output", .factors = "lm_head_multiplier"},
    {.from = "model.embed_tokens", .to = "token_embd", .factors = "embedding_multiplier"},
    {"model.final_layernorm",               "output_norm"},
    {"model.layers.{}.pre_ff_layernorm.weight", "blk.{}.ffn_norm"},
    {"model.layers.{}.mamba.A_log",         "blk.{}.ssm_a", kDecayColumn},
    {"model.layers.{}.mamba.D",             "blk.{}.ssm_d", kColumn},
    {"model.layers.{}.mamba.dt_bias",       "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.mamba.conv1d.weight", "blk.{}.ssm_conv1d.weight", kSqueeze, Store::kF32},
    {"model.layers.{}.mamba.conv1d.bias",   "blk.{}.ssm_conv1d.bias"},
    {"model.layers.{}.mamba.norm",          "blk.{}.ssm_norm", kNormGroups},
    {.from = "model.layers.{}.mamba.in_proj.weight", .to = "blk.{}.ssm_in.weight",
     .factors = "ssm_in_multiplier ssm_multipliers"},
    {.from = "model.layers.{}.mamba.out_proj", .to = "blk.{}.ssm_out",
     .factors = "ssm_out_multiplier"},
    {.from = "model.layers.{}.self_attn.q_proj", .to = "blk.{}.attn_q",
     .factors = "attention_in_multiplier"},
    {.from = "model.layers.{}.self_attn.k_proj", .to = "blk.{}.attn_k",
     .factors = "key_multiplier attention_in_multiplier"},
    {.from = "model.layers.{}.self_attn.v_proj", .to = "blk.{}.attn_v",
     .factors = "attention_in_multiplier"},
    {.from = "model.layers.{}.self_attn.o_proj", .to = "blk.{}.attn_output",
     .factors = "attention_out_multiplier"},
    {.from = "model.layers.{}.feed_forward.gate_proj", .to = "blk.{}.ffn_gate",
     .factors = "mlp_multipliers/0"},
    {"model.layers.{}.feed_forward.up_proj", "blk.{}.ffn_up"},
    {.from = "model.layers.{}.feed_forward.down_proj", .to = "blk.{}.ffn_down",
     .factors = "mlp_multipliers/1"},
};
constexpr auto kFalconH1Keys = spread([] { return std::to_array<KeyRule>({
    {"context_length",                   kU32, "max_position_embeddings", kFieldOrZero},
    {"{embedding,feed_forward}_length", kU32, "{hidden,intermediate}_size"},
    {"attention.head_count",             kU32, "num_attention_heads"},
    {"block_count",                      kU32, "", kBlockCount},
    {"ssm.{conv_kernel,inner_size,state_size,time_step_rank,group_count}", kU32,
     "mamba_{d_conv,d_ssm,d_state,n_heads,n_groups}"},
    {"attention.layer_norm_rms_epsilon", kF32, "rms_norm_eps"},
    {"general.file_type",                kU32, "", kFileType},
    {"vocab_size",                       kU32, "vocab_size"},
    {"attention.head_count_kv",          kU32, "num_key_value_heads"},
    {"attention.{key,value}_length", kU32, "head_dim"},
    {"rope.freq_base",                   kF32, "", kRopeBase},
}); });
constexpr auto kFalconH1Defaults = rows::in_shapes({
    {"vocab_size", "128000"}, {"hidden_size", "4096"}, {"intermediate_size", "14336"},
    {"num_hidden_layers", "32"}, {"num_attention_heads", "32"}, rows::key_heads("8"),
    {"mamba_d_ssm", "1024"}, {"mamba_n_heads", "128"}, {"mamba_n_groups", "1"},
    {"mamba_d_head", "mamba_d_ssm/mamba_n_heads"}, {"mamba_d_state", "256"}, {"mamba_d_conv", "4"},
    {"mamba_conv_bias", "1"}, rows::kHeadOfWidth,
});
// clang-format on

// The weights of a file have the multipliers in them.
void set_multipliers_to_one(const GraphConfig& made) {
  for (const char* field : {"lm_head_multiplier", "embedding_multiplier", "key_multiplier",
                            "attention_in_multiplier", "attention_out_multiplier",
                            "ssm_in_multiplier", "ssm_out_multiplier"}) {
    made.config[field] = 1.0;
  }
  made.config["mlp_multipliers"] = std::vector<double>(2, 1.0);
  made.config["ssm_multipliers"] = std::vector<double>(5, 1.0);
  made.config["mamba_d_head"] =
      count_in(made.config, "mamba_d_ssm") /
      std::max<uint64_t>(count_in(made.config, "mamba_n_heads"), 1);
}

}  // namespace

const Family kFalconH1 = {
    .name = "falcon-h1",
    .architectures = "FalconH1ForCausalLM",
    .model_types = "falcon_h1",
    .traits = {.text = {.set = {kMambaBesideAttention},
                        .told_fields = {{"mamba_conv_bias", "ssm_conv1d.bias"},
                                        {"mamba_rms_norm", "ssm_norm.weight"}},
                        .vllm_names = {{".layers.*.mamba.", ".*.mixer."}, {".self_attn.", "."}}}},
    .names = {kFalconH1Names, rows::kCommonNames},
    .keys = kFalconH1Keys,
    .keys_around = {.has_common = false},
    .defaults = kFalconH1Defaults,
    .parameters = {kFalconH1Rows, rows::kAttention, rows::kAttentionBias},
    // z, x, B, C and dt
    .sizes =
        {.norm_groups = "mamba_n_groups",
         .row_parts =
             "mamba_d_ssm mamba_d_ssm mamba_n_groups*mamba_d_state mamba_n_groups*mamba_d_state"
             " mamba_n_heads"},
    .graph = {.constants = {{"mamba_proj_bias", "false"}, {"mamba_norm_before_gate", "false"}},
              .add_fields = set_multipliers_to_one,
              .absent_fields = "time_step_limit"},
};

}  // namespace ckpt
