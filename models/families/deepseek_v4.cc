// DeepSeek V4: several residual streams, which learned matrices mix (hyper-connections); compressed
// attention with an indexer. In the first layers, a table gives each token its experts.
//
// Source: llama.cpp conversion/deepseek.py (DeepseekV4Model), which keeps the types of the source.
// Layers differ by compress_ratios: 4 with an indexer, 128 without, 0 for those that compress none.
#include "models/families/rows.h"

namespace ckpt {

extern const std::string_view kDeepseekV4Chat, kDeepseekV4Flash0731Chat;  // data/chat

namespace {

// clang-format off
constexpr auto kDeepseekV4Rows = spread([] { return std::to_array<ParameterRule>({
    {"{embed,head}.weight",         "vocab_size hidden_size"},
    {"norm.weight",                 "hidden_size"},
    {"hc_head_base",                "hc_mult"},
    {"hc_head_fn",                  "hc_mult hc_mult*hidden_size"},
    {"hc_head_scale",               "1"},
    {".{attn,ffn}_norm.weight",     "hidden_size"},
    {".hc_{attn,ffn}_base",         "2*hc_mult+hc_mult*hc_mult"},
    {".hc_{attn,ffn}_fn",           "2*hc_mult+hc_mult*hc_mult hc_mult*hidden_size"},
    {".hc_{attn,ffn}_scale",        "3"},
    {".attn.attn_sink",             "num_attention_heads"},
    {".attn.wq_a.weight",           "q_lora_rank hidden_size"},
    {".attn.q_norm.weight",         "q_lora_rank"},
    {".attn.wq_b.weight",           "num_attention_heads*head_dim q_lora_rank", kRows},
    {".attn.wkv.weight",            "head_dim hidden_size"},
    {".attn.kv_norm.weight",        "head_dim"},
    {".attn.wo_a.weight",           "o_groups*o_lora_rank num_attention_heads*head_dim/o_groups"},
    {".attn.wo_b.weight",           "hidden_size o_groups*o_lora_rank", kColumns},
    {".attn.compressor.ape",        "compress_ratios 2*head_dim", kWhole, "at:compress_ratios=4"},
    {".attn.compressor.ape",        "compress_ratios head_dim", kWhole, "at:compress_ratios=128"},
    {".attn.compressor.{wgate,wkv}.weight", "2*head_dim hidden_size", kWhole,
     "at:compress_ratios=4"},
    {".attn.compressor.{wgate,wkv}.weight", "head_dim hidden_size", kWhole,
     "at:compress_ratios=128"},
    {".attn.compressor.norm.weight", "head_dim", kWhole, "at:compress_ratios"},
    {".attn.indexer.compressor.ape", "compress_ratios 2*index_head_dim", kWhole,
     "at:compress_ratios=4"},
    {".attn.indexer.compressor.{wgate,wkv}.weight", "2*index_head_dim hidden_size", kWhole,
     "at:compress_ratios=4"},
    {".attn.indexer.compressor.norm.weight", "index_head_dim", kWhole, "at:compress_ratios=4"},
    {".attn.indexer.weights_proj.weight", "index_n_heads hidden_size", kWhole,
     "at:compress_ratios=4"},
    {".attn.indexer.wq_b.weight",   "index_n_heads*index_head_dim q_lora_rank", kWhole,
     "at:compress_ratios=4"},
    {".ffn.gate.tid2eid",           "vocab_size num_experts_per_tok", kWhole,
     "below:num_hash_layers"},
    {".ffn.gate.bias",              "n_routed_experts", kWhole, "from:num_hash_layers"},
    {".ffn.gate.bias_vl",           "n_routed_experts", kWhole, "optional"},
    {".ffn.gate.weight",            "n_routed_experts hidden_size"},
    {".ffn.experts.{}.w1.weight",   "moe_intermediate_size hidden_size", kRows},
    {".ffn.experts.{}.w2.weight",   "hidden_size moe_intermediate_size", kColumns},
    {".ffn.experts.{}.w3.weight",   "moe_intermediate_size hidden_size", kRows},
    {".ffn.shared_experts.w{1,3}.weight", "n_shared_experts*moe_intermediate_size hidden_size",
     kRows},
    {".ffn.shared_experts.w2.weight", "hidden_size n_shared_experts*moe_intermediate_size",
     kColumns},
}); });
constexpr auto kDeepseekV4Names = spread([] { return std::to_array<NameRule>({
    {"{embed,norm,head}",                      "{token_embd,output_norm,output}"},
    {"hc_head_{base,fn,scale}",                "output_hc_{base,fn,scale}.weight"},
    {"layers.{}.hc_attn_{base,fn,scale}",      "blk.{}.hc_attn_{base,fn,scale}.weight"},
    {"layers.{}.hc_ffn_{base,fn,scale}",       "blk.{}.hc_ffn_{base,fn,scale}.weight"},
    {"layers.{}.attn.attn_sink",               "blk.{}.attn_sinks.weight"},
    {"layers.{}.attn.{wq_a,wq_b,q_norm,wkv,kv_norm,wo_a,wo_b}",
     "blk.{}.attn_{q_a,q_b,q_a_norm,kv,kv_a_norm,output_a,output_b}"},
    {"layers.{}.attn.compressor.ape",          "blk.{}.attn_compressor_ape.weight"},
    {"layers.{}.attn.compressor.{wkv,wgate,norm}", "blk.{}.attn_compressor_{kv,gate,norm}"},
    {"layers.{}.attn.indexer.{wq_b,weights_proj}", "blk.{}.indexer.{attn_q_b,proj}"},
    {"layers.{}.attn.indexer.compressor.ape",  "blk.{}.indexer_compressor_ape.weight"},
    {"layers.{}.attn.indexer.compressor.{wkv,wgate,norm}",
     "blk.{}.indexer_compressor_{kv,gate,norm}"},
    {"layers.{}.{attn,ffn}_norm",              "blk.{}.{attn,ffn}_norm"},
    {"layers.{}.ffn.gate.tid2eid",             "blk.{}.ffn_gate_tid2eid.weight", kWholeNumbers},
    {"layers.{}.ffn.gate.weight",              "blk.{}.ffn_gate_inp.weight"},
    {.from = "layers.{}.ffn.gate.bias", .to = "blk.{}.exp_probs_b.bias",
     .from_layer = "num_hash_layers"},
    {"layers.{}.ffn.gate.bias_vl",             "blk.{}.exp_probs_b_vl.bias"},
    {"layers.{}.ffn.experts.{}.w{1,2,3}",      "blk.{}.ffn_{gate,down,up}_exps", kExpert},
    {"layers.{}.ffn.shared_experts.w{1,2,3}",  "blk.{}.ffn_{gate,down,up}_shexp"},
}); });
constexpr KeyRule kDeepseekV4Early[] = {
    {"tokenizer.chat_template", kText, "", kChatTemplate},
};
constexpr auto kDeepseekV4Keys = spread([] { return std::to_array<KeyRule>({
    {"general.file_type",           kU32, "38", kNumber},
    {"rope.dimension_count",        kU32, "qk_rope_head_dim", kNumber},
    {"attention.q_lora_rank",       kU32, "q_lora_rank", kNumber},
    {"attention.sliding_window",    kU32, "sliding_window", kNumber},
    {"expert_feed_forward_length",  kU32, "moe_intermediate_size", kNumber},
    {"expert_shared_count",         kU32, "n_shared_experts", kNumber},
    {"expert_weights_scale",        kF32, "routed_scaling_factor"},
    {"expert_weights_norm",         kBool, "norm_topk_prob"},
    {"swiglu_clamp_{exp,shexp}",    kArray, "swiglu_limit", kLimits},
    {"attention.indexer.{head_count,key_length,top_k}", kU32, "index_{n_heads,head_dim,topk}",
     kNumber},
    {"attention.output_group_count", kU32, "o_groups", kNumber},
    {"attention.output_lora_rank",  kU32, "o_lora_rank", kNumber},
    {"attention.compress_ratios",   kArray, "compress_ratios", kWholeList},
    {"attention.compress_rope_freq_base", kF32, "compress_rope_theta"},
    {"hyper_connection.count",      kU32, "hc_mult", kNumber},
    {"hyper_connection.sinkhorn_iterations", kU32, "hc_sinkhorn_iters", kNumber},
    {"hyper_connection.epsilon",    kF32, "hc_eps"},
    {"hash_layer_count",            kU32, "num_hash_layers", kNumber},
    {"embedding_length_out",        kU32, "hidden_size*hc_mult", kNumber},
}); });
// clang-format on

// One limit for all blocks, where the key lists one for each.
void add_deepseek_v4_fields(const GraphConfig& made) {
  const JsonValue limits = list_in(made.config, "swiglu_limit");
  if (!limits.empty()) made.config["swiglu_limit"] = limits[0];
}

}  // namespace

const Family kDeepseekV4 = {
    .name = "deepseek4",
    .architectures = "DeepseekV4ForCausalLM",
    .model_types = "deepseek_v4",
    .traits = {.text = {.set = {kExpertsAreModules, kKeepsTypes}}},
    .names = {kDeepseekV4Names},
    .keys = kDeepseekV4Keys,
    .keys_around = {.early = kDeepseekV4Early,
                    .own_spellings = "n_routed_experts num_experts_per_tok scoring_func"},
    .parameters = {kDeepseekV4Rows},
    .is_partial = true,  // other releases have towers and layers for prediction of other kinds
    .root = "",
    .tokenizer = {.chat = {&kDeepseekV4Chat, "0731", &kDeepseekV4Flash0731Chat}},
    .left_out_start = "mtp. aligner. image_",
    .graph = {.constants = {{"topk_method", "\"noaux_tc\""}, {"num_nextn_predict_layers", "0"}},
              .add_fields = add_deepseek_v4_fields},
    .windows = {.period = 1},  // each layer also reads all tokens, in compressed form
};

}  // namespace ckpt
