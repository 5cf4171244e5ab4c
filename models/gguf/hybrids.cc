// Architectures of GGUF with recurrent layers, most of them between those with attention. Sources:
// llama.cpp v0.5.0 src/models/{qwen35,qwen35moe,qwen3next,granite-hybrid,nemotron-h,lfm2,lfm2moe,
// mamba2,jamba,falcon-h1,kimi-linear,kimi-k3,qwen4exp}.cpp, of a later release glm5-next.cpp.
#include "models/gguf/rows.h"

namespace ckpt::gguf_rows {
namespace {

// clang-format off
constexpr GgufRow kGatedDeltaRows[] = {
    {"blk.{}.attn_{q,k,v}",               "embd 2*head*k k_gqa v_gqa", "!recurrent"},
    {"blk.{}.attn_output.weight",         "head*k embd", "!recurrent"},
    {"blk.{}.attn_{q,k}_norm.weight",     "k", "!recurrent"},
    {"blk.{}.attn_qkv.weight",            "embd 2*state*group+state*rank", "recurrent"},
    {"blk.{}.attn_gate.weight",           "embd state*rank", "recurrent"},
    {"blk.{}.ssm_conv1d.weight",          "conv 2*state*group+state*rank", "recurrent"},
    {"blk.{}.ssm_dt.bias",                "rank", "recurrent"},
    {"blk.{}.ssm_a",                      "rank", "recurrent"},
    {"blk.{}.ssm_norm.weight",            "state", "recurrent"},
    {"blk.{}.ssm_out.weight",             "state*rank embd", "recurrent"},
};
constexpr GgufRow kTwoGateRows[] = {{"blk.{}.ssm_{beta,alpha}.weight", "embd rank", "recurrent"}};
constexpr GgufRow kJoinedGateRows[] = {{"blk.{}.ssm_ba.weight", "embd 2*rank", "recurrent"}};
constexpr GgufRow kSharedExpertRows[] = {
    {"blk.{}.ffn_gate_inp.weight",       "embd expert"},
    {"blk.{}.ffn_down_exps.weight",      "expert_width embd expert"},
    {"blk.{}.ffn_{gate,up}_exps",        "embd expert_width expert"},
    {"blk.{}.ffn_gate_inp_shexp.weight", "embd"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd shared_width"},
};
constexpr GgufRow kFeedNorm[] = {{"blk.{}.ffn_norm.weight", "embd"}};
constexpr GgufRow kMamba2Rows[] = {
    {"blk.{}.attn_norm.weight",   "embd"},
    {"blk.{}.ssm_in.weight",      "embd 2*inner+2*group*state+rank", "mamba"},
    {"blk.{}.ssm_conv1d.weight",  "conv inner+2*group*state", "mamba"},
    {"blk.{}.ssm_conv1d.bias",    "inner+2*group*state", "mamba"},
    {"blk.{}.ssm_dt.bias",        "rank", "mamba"},
    {"blk.{}.ssm_{a,d}",          "1 rank", "mamba"},
    {"blk.{}.ssm_norm.weight",    "inner/group group", "mamba"},
    {"blk.{}.ssm_out.weight",     "inner embd", "mamba"},
    {"blk.{}.attn_{q,k,v}",       "embd head_i*k k_gqa_i v_gqa_i", "attention"},
    {"blk.{}.attn_output.weight", "head_i*k embd", "attention"},
    {"blk.{}.attn_output.bias",   "embd", "attention optional"},
};
constexpr GgufRow kNemotronRows[] = {
    {"blk.{}.ffn_{down,up}.weight", "embd ff_i", "ff_i !expert !nextn"},
    {"blk.{}.ffn_down.bias",          "embd", "ff_i !expert !nextn optional"},
    {"blk.{}.ffn_up.bias",            "ff_i", "ff_i !expert !nextn optional"},
    {"blk.{}.ffn_gate_inp.weight",    "embd expert", "routed"},
    {"blk.{}.exp_probs_b.bias",       "expert", "routed"},
    {"blk.{}.ffn_latent_down.weight", "embd latent", "routed optional"},
    {"blk.{}.ffn_latent_up.weight",   "latent embd", "routed optional"},
    {"blk.{}.ffn_{down,up}_exps.weight", "latent expert_width_i expert", "routed"},
    {"blk.{}.ffn_{down,up}_shexp.weight", "embd ff_shexp", "routed"},
    {"blk.{}.nextn.eh_proj.weight",          "2*embd embd", "nextn"},
    {"blk.{}.nextn.{e,h}norm.weight",        "embd", "nextn"},
    {"blk.{}.nextn.shared_head_norm.weight", "embd", "nextn"},
    {"blk.{}.post_attention_norm.weight",    "embd", "nextn"},
};
constexpr GgufRow kJambaRows[] = {
    {"blk.{}.ssm_in.weight",       "embd 2*inner", "mamba"},
    {"blk.{}.ssm_conv1d.weight",   "conv inner", "mamba"},
    {"blk.{}.ssm_conv1d.bias",     "inner", "mamba"},
    {"blk.{}.ssm_x.weight",        "inner rank+2*state", "mamba"},
    {"blk.{}.ssm_dt_norm.weight",  "rank", "mamba"},
    {"blk.{}.ssm_dt.weight",       "rank inner", "mamba"},
    {"blk.{}.ssm_dt.bias",         "inner", "mamba"},
    {"blk.{}.ssm_{b,c}_norm.weight", "state", "mamba"},
    {"blk.{}.ssm_a",               "state inner", "mamba"},
    {"blk.{}.ssm_d",               "inner", "mamba"},
    {"blk.{}.ssm_out.weight",      "inner embd", "mamba"},
    {"blk.{}.attn_{q,k,v}",        "embd embd v_gqa_i v_gqa_i", "attention"},
    {"blk.{}.attn_output.weight",  "embd embd", "attention"},
    {"blk.{}.ffn_gate_inp.weight", "embd expert", "routed"},
    {"blk.{}.ffn_{gate,down,up}_exps.weight", "embd ff expert", "routed"},
    {"blk.{}.ffn_{gate,up,down}.weight", "embd ff", "!routed"},
};
constexpr GgufRow kFalconRows[] = {
    {"blk.{}.attn_norm.weight",   "embd"},
    {"blk.{}.ssm_in.weight",      "embd 2*inner+2*group*state+rank"},
    {"blk.{}.ssm_conv1d.weight",  "conv inner+2*group*state"},
    {"blk.{}.ssm_conv1d.bias",    "inner+2*group*state", "optional"},
    {"blk.{}.ssm_dt.bias",        "rank"},
    {"blk.{}.ssm_{a,d}",          "1 rank"},
    {"blk.{}.ssm_norm.weight",    "inner/group group", "optional"},
    {"blk.{}.ssm_out.weight",     "inner embd"},
    {"blk.{}.attn_output.bias",   "embd", "optional"},
    {"blk.{}.ffn_norm",           "embd"},
    {"blk.{}.ffn_{gate,up}.bias", "ff", "optional"},
    {"blk.{}.ffn_down.bias",      "embd", "optional"},
};
constexpr GgufRow kKimiLinearRows[] = {
    {"blk.{}.attn_{q,k,v}",         "embd head*kda head*kda head*kda", "mamba"},
    {"blk.{}.ssm_conv1d_{q,k,v}.weight", "conv 1 head*kda", "mamba f32"},
    {"blk.{}.ssm_{f,g}_a.weight",   "embd kda", "mamba"},
    {"blk.{}.ssm_{f,g}_b.weight",   "kda head*kda", "mamba"},
    {"blk.{}.ssm_beta.weight",      "embd head", "mamba"},
    {"blk.{}.ssm_a",                "1 head", "mamba"},
    {"blk.{}.ssm_dt.bias",          "head*kda", "mamba"},
    {"blk.{}.ssm_norm.weight",      "kda", "mamba"},
    {"blk.{}.attn_output.weight",   "head*kda embd", "mamba"},
    {"blk.{}.attn_kv_a_norm.weight", "lora_kv", "attention"},
    {"blk.{}.attn_q.weight",        "embd head_i*k_mla", "attention"},
    {"blk.{}.attn_kv_a_mqa.weight", "embd lora_kv+rot", "attention"},
    {"blk.{}.attn_k_b.weight",      "nope lora_kv head", "attention"},
    {"blk.{}.attn_v_b.weight",      "lora_kv v_mla head", "attention"},
    {"blk.{}.attn_output.weight",   "head*v_mla embd", "attention"},
};
constexpr GgufRow kKimiK3Rows[] = {
    {"output_res_score.weight",     "embd", "res"},
    {"blk.{}.{attn,ffn}_res_score.weight", "embd", "res"},
    {"blk.{}.attn_{q,k,v}",         "embd head*kda head*kda head*kda", "mamba"},
    {"blk.{}.ssm_conv1d_{q,k,v}.weight", "conv 1 head*kda", "mamba f32"},
    {"blk.{}.ssm_f_a.weight",       "embd kda", "mamba"},
    {"blk.{}.ssm_f_b.weight",       "kda head*kda", "mamba"},
    {"blk.{}.ssm_beta.weight",      "embd head", "mamba"},
    {"blk.{}.ssm_a",                "head", "mamba"},
    {"blk.{}.ssm_dt.bias",          "head*kda", "mamba"},
    {"blk.{}.ssm_g.weight",         "embd head*kda", "mamba"},
    {"blk.{}.ssm_norm.weight",      "kda", "mamba"},
    {"blk.{}.attn_output.weight",   "head*kda embd", "mamba"},
    {"blk.{}.attn_q_a_norm.weight", "lora_q", "attention lora_q"},
    {"blk.{}.attn_q_a.weight",      "embd lora_q", "attention lora_q"},
    {"blk.{}.attn_q_b.weight",      "lora_q head_i*k_mla", "attention lora_q"},
    {"blk.{}.attn_q.weight",        "embd head_i*k_mla", "attention !lora_q"},
    {"blk.{}.attn_kv_a_norm.weight", "lora_kv", "attention"},
    {"blk.{}.attn_kv_a_mqa.weight", "embd lora_kv+rot", "attention"},
    {"blk.{}.attn_k_b.weight",      "nope lora_kv head", "attention"},
    {"blk.{}.attn_v_b.weight",      "lora_kv v_mla head", "attention"},
    {"blk.{}.attn_gate.weight",     "embd head*v_mla", "attention optional"},
    {"blk.{}.attn_output.weight",   "head*v_mla embd", "attention"},
    {"blk.{}.exp_probs_b.bias",     "expert", "moe"},
    {"blk.{}.ffn_{gate,down,up}_exps.weight", "latent ff_exp expert", "moe"},
    {"blk.{}.ffn_routed_down.weight", "embd latent", "moe expert_latent"},
    {"blk.{}.ffn_routed_up.weight", "latent embd", "moe expert_latent"},
    {"blk.{}.ffn_routed_norm.weight", "latent", "moe expert_latent optional"},
    {"blk.{}.ffn_gate_shexp.weight", "embd ff_exp*shared_or_one", "moe optional"},
    {"blk.{}.ffn_{up,down}_shexp.weight", "embd ff_exp*shared_or_one", "moe shares"},
    {"blk.{}.ffn_{up,down}_shexp.weight", "embd ff_exp*shared_or_one",
     "moe !shares alone optional"},
};
constexpr GgufRow kGlm5Rows[] = {
    {"blk.{}.hc_{attn,ffn}_fn.weight",  "streams*embd 2*streams+streams*streams", "!nextn"},
    {"blk.{}.hc_{attn,ffn}_base.weight", "2*streams+streams*streams", "!nextn"},
    {"blk.{}.hc_{attn,ffn}_scale.weight", "3", "!nextn"},
    {"blk.{}.attn_{q,k,v}",         "embd head*kda head*kda head*kda", "mamba"},
    {"blk.{}.ssm_conv1d_{q,k,v}.weight", "conv 1 head*kda", "mamba f32"},
    {"blk.{}.ssm_{f,g}_a.weight",   "embd kda", "mamba"},
    {"blk.{}.ssm_{f,g}_b.weight",   "kda head*kda", "mamba"},
    {"blk.{}.ssm_beta.weight",      "embd head", "mamba"},
    {"blk.{}.ssm_a",                "head", "mamba"},
    {"blk.{}.ssm_dt.bias",          "head*kda", "mamba"},
    {"blk.{}.ssm_norm.weight",      "kda", "mamba"},
    {"blk.{}.attn_output.weight",   "head*kda embd", "mamba"},
    {"blk.{}.attn_q_a_norm.weight", "lora_q", "attention"},
    {"blk.{}.attn_q_a.weight",      "embd lora_q", "attention"},
    {"blk.{}.attn_q_b.weight",      "lora_q head_i*k_mla", "attention"},
    {"blk.{}.attn_kv_a_norm.weight", "lora_kv", "attention"},
    {"blk.{}.attn_kv_a_mqa.weight", "embd lora_kv+rot", "attention"},
    {"blk.{}.attn_k_b.weight",      "nope lora_kv head", "attention"},
    {"blk.{}.attn_v_b.weight",      "lora_kv v_mla head", "attention"},
    {"blk.{}.attn_output.weight",   "head*v_mla embd", "attention"},
    {"blk.{}.indexer.k_norm.{weight,bias}", "indexer_k", "attention owns_indexer"},
    {"blk.{}.indexer.proj.weight",  "embd indexer_head", "attention owns_indexer"},
    {"blk.{}.indexer.attn_k.weight", "embd indexer_k", "attention owns_indexer"},
    {"blk.{}.indexer.attn_q_b.weight", "lora_q indexer_head*indexer_k", "attention owns_indexer"},
    {"blk.{}.indexer_compressor_gate.weight", "embd indexer_k", "attention owns_indexer"},
    {"blk.{}.indexer_compressor_ape.weight", "indexer_k kpool", "attention owns_indexer"},
    {"blk.{}.indexer.k_norm.{weight,bias}", "indexer_k", "attention !owns_indexer alone optional"},
    {"blk.{}.indexer.proj.weight",  "embd indexer_head", "attention !owns_indexer alone optional"},
    {"blk.{}.indexer.attn_k.weight", "embd indexer_k", "attention !owns_indexer alone optional"},
    {"blk.{}.indexer.attn_q_b.weight", "lora_q indexer_head*indexer_k",
     "attention !owns_indexer alone optional"},
    {"blk.{}.indexer_compressor_gate.weight", "embd indexer_k",
     "attention !owns_indexer alone optional"},
    {"blk.{}.indexer_compressor_ape.weight", "indexer_k kpool",
     "attention !owns_indexer alone optional"},
};
constexpr GgufRow kQwen4Rows[] = {
    {"token_embd.weight",           "embd vocab"},
    {"output_hc_norm.weight",       "embd streams", "reshaped"},
    {"output_hc_down.weight",       "streams*embd lowrank"},
    {"output_hc_up.weight",         "lowrank streams*embd"},
    {"per_layer_token_embd.weight", "per_layer ple_rows", "ple_heads longer"},
    {"blk.{}.hc_{attn,ffn}_norm.weight", "embd streams", "reshaped"},
    {"blk.{}.hc_attn_down.weight",  "streams*embd lowrank"},
    {"blk.{}.hc_ffn_down.weight",   "streams*embd lowrank"},
    {"blk.{}.hc_{attn,ffn}_up.weight",   "lowrank streams*embd"},
    {"blk.{}.hc_{attn,ffn}_inject.weight", "streams*embd streams"},
    {"blk.{}.indexer.q_proj.weight",     "embd indexer_head*indexer_k", "!recurrent"},
    {"blk.{}.indexer.k_proj.weight",     "embd indexer_k", "!recurrent"},
    {"blk.{}.indexer.{q,k}_norm.weight", "indexer_k", "!recurrent"},
    {"blk.{}.ple_key.weight",       "embd streams*embd", "ple"},
    {"blk.{}.ple_value.weight",     "embd embd", "ple"},
    {"blk.{}.ple_norm_{key,query,conv}.weight", "embd streams", "ple reshaped f32"},
    {"blk.{}.ple_conv1d.weight",    "ple_conv streams*embd", "ple any"},
};
constexpr GgufRow kLing3Rows[] = {
    {"blk.{}.attn_{q,k,v}",         "embd head*kda head*kda head*kda", "mamba"},
    {"blk.{}.ssm_conv1d_{q,k,v}.weight", "conv 1 head*kda", "mamba f32"},
    {"blk.{}.ssm_{f,g}_a.weight",   "embd head*kda", "mamba"},
    {"blk.{}.ssm_beta.weight",      "embd head", "mamba"},
    {"blk.{}.ssm_a",                "1 head", "mamba"},
    {"blk.{}.ssm_dt.bias",          "head*kda", "mamba"},
    {"blk.{}.ssm_norm.weight",      "kda", "mamba"},
    {"blk.{}.attn_output.weight",   "head*kda embd", "mamba"},
    {"blk.{}.attn_q_a.weight",      "embd lora_q", "attention lora_q"},
    {"blk.{}.attn_q_a_norm.weight", "lora_q", "attention lora_q"},
    {"blk.{}.attn_q_b.weight",      "lora_q head_i*k_mla", "attention lora_q"},
    {"blk.{}.attn_q.weight",        "embd head_i*k_mla", "attention !lora_q"},
    {"blk.{}.attn_kv_a_mqa.weight", "embd lora_kv+rot", "attention"},
    {"blk.{}.attn_kv_a_norm.weight", "lora_kv", "attention"},
    {"blk.{}.attn_k_b.weight",      "nope lora_kv head", "attention"},
    {"blk.{}.attn_v_b.weight",      "lora_kv v_mla head", "attention"},
    {"blk.{}.attn_gate.weight",     "embd head", "attention"},
    {"blk.{}.attn_output.weight",   "head*v_mla embd", "attention"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd shexp_width", "moe"},
    {"blk.{}.nextn.eh_proj.weight",     "2*embd embd", "nextn"},
    {"blk.{}.nextn.{e,h}norm.weight",   "embd", "nextn"},
    {"blk.{}.layer_output_norm.weight", "embd", "nextn"},
};
constexpr GgufRow kLfm2Rows[] = {
    {"token_embd.weight",                "embd vocab"},
    {"token_embd_norm.weight",           "embd"},
    {"dense_2.weight",                   "embd out", "optional"},
    {"dense_2.bias",                     "out", "optional"},
    {"blk.{}.attn_{q,k}_norm.weight",    "k", "head_kv_i"},
    {"blk.{}.attn_{q,k,v}",              "embd embd k_gqa_i v_gqa_i", "head_kv_i"},
    {"blk.{}.attn_output.weight",        "embd embd", "head_kv_i"},
    {"blk.{}.shortconv.conv.weight",     "l_cache embd", "!head_kv_i"},
    {"blk.{}.shortconv.in_proj.weight",  "embd 3*embd", "!head_kv_i"},
    {"blk.{}.shortconv.out_proj.weight", "embd embd", "!head_kv_i"},
};
// clang-format on

// clang-format off
const GgufArchitecture kHybridArchitectures[] = {
    {.names = " qwen35 ",
     .rows = {kFrame, kTiedHead, kPostNorms, kGatedDeltaRows, kTwoGateRows, kDense, kNextn},
     .keys = "rope.dimension_sections! ssm.conv_kernel! ssm.inner_size! ssm.state_size!"
             " ssm.time_step_rank! ssm.group_count! attention.recurrent_layers"
             " full_attention_interval", .graph = "hybrid gated_delta", .has_nextn = true},
    {.names = " qwen35moe ",
     .rows = {kFrame, kTiedHead, kPostNorms, kGatedDeltaRows, kTwoGateRows, kSharedExpertRows,
              kNextn},
     .keys = "rope.dimension_sections! ssm.conv_kernel! ssm.inner_size! ssm.state_size!"
             " ssm.time_step_rank! ssm.group_count! attention.recurrent_layers"
             " full_attention_interval expert_feed_forward_length"
             " expert_shared_feed_forward_length", .graph = "hybrid gated_delta",
     .has_nextn = true},
    {.names = " qwen3next ",
     .rows = {kFrame, kTiedHead, kPostNorms, kGatedDeltaRows, kJoinedGateRows, kSharedExpertRows,
              kNextn},
     .keys = "ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank!"
             " ssm.group_count! attention.recurrent_layers full_attention_interval"
             " expert_feed_forward_length expert_shared_feed_forward_length",
     .graph = "hybrid gated_delta", .needs_experts = true, .has_nextn = true},
    {.names = " granitehybrid ",
     .rows = {kFrame, kTiedHead, kMamba2Rows, kRopeFreqs, kFeedNorm, kLlamaFeed, kGraniteShared},
     .keys = "logit_scale residual_scale embedding_scale attention.scale ssm.conv_kernel!"
             " ssm.inner_size! ssm.state_size! ssm.time_step_rank! ssm.group_count!"
             " expert_shared_feed_forward_length", .graph = "hybrid no_rope double_inner"},
    {.names = " nemotron_h nemotron_h_moe ",
     .rows = {kFrame, kTiedHead, kMamba2Rows, kNemotronRows}, .norm = "",
     .keys = "ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank!"
             " ssm.group_count! attention.layer_norm_epsilon! attention.layer_norm_rms_epsilon"
             " expert_feed_forward_length expert_shared_feed_forward_length expert_shared_count"
             " expert_weights_norm expert_weights_scale moe_latent_size", .graph = "hybrid no_rope",
     .has_nextn = true, .has_mlp_blocks = true},
    {.names = " mamba2 ", .rows = {kFrame, kTiedHead, kMamba2Rows},
     .keys = "ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank!"
             " ssm.group_count!", .graph = "no_rope mamba_alone"},
    {.names = " jamba ", .rows = {kFrame, kTiedHead, kNorms, kJambaRows},
     .keys = "ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank!",
     .graph = "hybrid no_rope double_inner"},
    {.names = " falcon-h1 ",
     .rows = {kFrame, kTiedHead, kFalconRows, kAttention, kRopeFreqs, kDense},
     .keys = "ssm.conv_kernel! ssm.inner_size! ssm.state_size! ssm.time_step_rank!"
             " ssm.group_count!"},
    {.names = " kimi-linear ",
     .rows = {kFrame, kHead, kNorms, kKimiLinearRows, kLeading, kBiasedRouted, kShared},
     .keys = "attention.key_length_mla! attention.value_length_mla! attention.kv_lora_rank!"
             " ssm.conv_kernel! kda.head_dim! expert_feed_forward_length! expert_shared_count!"
             " leading_dense_block_count expert_weights_scale expert_gating_func!",
     .graph = "hybrid no_rope other_values gates"},
    {.names = " kimi-k3 ",
     .rows = {kFrame, kHead, kNorms, kKimiK3Rows, kLeading},
     .keys = "attention.key_length_mla! attention.value_length_mla! attention.q_lora_rank"
             " attention.kv_lora_rank! ssm.conv_kernel! kda.head_dim! kda.gate_lower_bound"
             " expert_feed_forward_length! expert_shared_count! leading_dense_block_count"
             " expert_weights_scale expert_weights_norm expert_gating_func! expert_latent_length"
             " attn_res.block_size! activation.situ_beta! activation.situ_linear_beta!",
     .graph = "hybrid no_rope other_values gates one_key_head"},
    {.names = " glm5-next ",
     .rows = {kFrame, kHead, kNorms, kGlm5Rows, kLeading, kBiasedRouted, kShared, kNextn},
     .keys = "attention.key_length_mla! attention.value_length_mla! attention.q_lora_rank!"
             " attention.kv_lora_rank! attention.layer_norm_epsilon ssm.conv_kernel! kda.head_dim!"
             " kda.gate_lower_bound expert_feed_forward_length! expert_shared_count!"
             " leading_dense_block_count expert_weights_scale expert_weights_norm"
             " expert_gating_func swiglu_clamp_exp swiglu_clamp_shexp"
             " attention.indexer.head_count! attention.indexer.key_length!"
             " attention.indexer.top_k! attention.indexer.kpool!"
             " attention.indexer.kpool_select_tail attention.indexer.types"
             " hyper_connection.count! hyper_connection.sinkhorn_iterations!"
             " hyper_connection.epsilon!",
     .graph = "hybrid no_rope other_values one_key_head pooling", .has_nextn = true},
    {.names = " qwen4exp ",
     .rows = {kTiedHead, kQwen4Rows, kGatedDeltaRows, kTwoGateRows, kSharedExpertRows},
     .keys = "rope.dimension_sections! ssm.conv_kernel! ssm.inner_size! ssm.state_size!"
             " ssm.time_step_rank! ssm.group_count! attention.recurrent_layers"
             " full_attention_interval expert_feed_forward_length"
             " expert_shared_feed_forward_length hyper_connection.count! hyper_connection.low_rank!"
             " attention.indexer.head_count! attention.indexer.key_length!"
             " attention.indexer.top_k! attention.compress_ratios ple.layers ple.ngram_size"
             " ple.heads_per_ngram ple.conv_kernel ple.eos_token_id ple.image_token_id"
             " embedding_length_per_layer_input ple.layer_multipliers ple.head_offsets"
             " ple.head_vocab_sizes", .graph = "hybrid gated_delta hashed_embedding"},
    {.names = " bailingmoe3 ",
     .rows = {kFrame, kTiedHead, kNorms, kLing3Rows, kLeading, kBiasedRouted},
     .keys = "attention.key_length_mla! attention.value_length_mla! attention.kv_lora_rank!"
             " attention.q_lora_rank ssm.conv_kernel! kda.head_dim! kda.gate_lower_bound!"
             " kda.safe_gate expert_feed_forward_length! expert_shared_feed_forward_length"
             " expert_shared_count! leading_dense_block_count! expert_weights_scale"
             " expert_weights_norm expert_gating_func! swiglu_clamp_exp swiglu_clamp_shexp",
     .graph = "hybrid other_values gates", .has_nextn = true, .may_lack_nextn = true},
    {.names = " lfm2 ", .rows = {kTiedHead, kNorms, kLfm2Rows, kDense},
     .keys = "shortconv.l_cache! attention.sliding_window", .graph = "other_values hybrid"},
    {.names = " lfm2moe ", .rows = {kTiedHead, kNorms, kLfm2Rows, kLeading, kBiasedRouted},
     .keys = "shortconv.l_cache! leading_dense_block_count expert_feed_forward_length!"
             " expert_gating_func!", .graph = "other_values hybrid gates"},
};
// clang-format on

}  // namespace

std::span<const GgufArchitecture> hybrid_architectures() { return kHybridArchitectures; }

}  // namespace ckpt::gguf_rows
