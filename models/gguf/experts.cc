// Architectures of GGUF that route tokens to experts. Sources: llama.cpp v0.5.0 src/models/{llama4,
// olmoe,phimoe,openai-moe,minimax-m2,minimax-m3,qwen2moe,qwen3moe,qwen3vlmoe,glm4-moe,deepseek2,
// glm-dsa,deepseek32,dots1,exaone-moe,bailingmoe2,afmoe,cohere2moe,hy-v3,hy-v4,hunyuan-moe,
// step35,mimo2,laguna,deepseek4}.cpp.
#include "models/gguf/rows.h"

namespace ckpt::gguf_rows {
namespace {

// clang-format off
constexpr GgufRow kBlockIndexerRows[] = {
    {"blk.{}.indexer.q_proj.weight",     "embd indexer_head*indexer_k", "moe"},
    {"blk.{}.indexer.k_proj.weight",     "embd indexer_k", "moe"},
    {"blk.{}.indexer.{q,k}_norm.weight", "indexer_k", "moe"},
};
constexpr GgufRow kLlama4Rows[] = {
    {"blk.{}.ffn_{gate,up,down}.weight", "embd ff", "!interleaved"},
    {"blk.{}.ffn_gate_inp.weight",   "embd expert", "interleaved"},
    {"blk.{}.ffn_{gate,down,up}_exps.weight", "embd ff_exp expert", "interleaved"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd ff_exp", "interleaved"},
};
constexpr GgufRow kPlainExpertRows[] = {
    {"blk.{}.ffn_gate_inp.weight",  "embd expert"},
    {"blk.{}.ffn_{gate,down,up}_exps.weight", "embd ff expert"},
};
constexpr GgufRow kOlmoeRows[] = {{"blk.{}.attn_{q,k}_norm.weight", "embd"}};
constexpr GgufRow kPhiMoeRows[] = {
    {"output_norm.bias",          "embd"},
    {"output.bias",               "vocab"},
    {"blk.{}.attn_norm.bias",     "embd"},
    {"blk.{}.attn_output.bias",   "embd"},
    {"blk.{}.ffn_norm.bias",      "embd"},
    {"rope_factors_{long,short}.weight", "head_half", "optional first"},
};
constexpr GgufRow kGptOssRows[] = {
    {"blk.{}.attn_{q,k,v}",               "embd head*rot head_kv*rot head_kv*rot"},
    {"blk.{}.attn_output.weight",         "head*rot embd"},
    {"blk.{}.attn_output.bias",           "embd"},
    {"blk.{}.attn_sinks.weight",          "head"},
    {"blk.{}.ffn_gate_inp.weight",        "embd expert"},
    {"blk.{}.ffn_{gate,down,up}_exps.weight", "embd ff_exp expert"},
    {"blk.{}.ffn_gate_inp.bias",          "expert"},
    {"blk.{}.ffn_gate_exps.bias",         "ff_exp expert"},
    {"blk.{}.ffn_down_exps.bias",         "embd expert"},
    {"blk.{}.ffn_up_exps.bias",           "ff_exp expert"},
};
constexpr GgufRow kMiniMaxRows[] = {
    {"blk.{}.attn_q_norm.weight", "head*k"},
    {"blk.{}.attn_k_norm.weight", "k_gqa"},
    {"blk.{}.exp_probs_b.bias",   "expert"},
};
constexpr GgufRow kQwen2MoeRows[] = {
    {"blk.{}.attn_{q,k,v}",              "embd embd v_gqa v_gqa"},
    {"blk.{}.attn_output.weight",        "embd embd"},
    {"blk.{}.ffn_gate_inp_shexp.weight", "embd"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd shared_width"},
};
constexpr GgufRow kGlm4MoeRows[] = {
    {"blk.{}.attn_q_norm.weight",         "k", "optional"},
    {"blk.{}.attn_k_norm.weight",         "k", "optional"},
    {"blk.{}.exp_probs_b.bias",           "expert", "moe"},
    {"blk.{}.ffn_{gate,up,down}_exps.weight", "embd expert_width expert", "moe"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd expert_width*shared", "moe shared"},
};
constexpr GgufRow kFusedRouted[] = {
    {"blk.{}.exp_probs_b.bias",      "expert", "moe optional"},
    {"blk.{}.ffn_{gate,up}_exps",    "embd ff_exp expert", "moe"},
    {"blk.{}.ffn_down_exps.weight",  "ff_exp embd expert", "moe"},
};
constexpr GgufRow kIndexerRows[] = {
    {"blk.{}.indexer.k_norm.weight",   "indexer_k", "optional"},
    {"blk.{}.indexer.k_norm.bias",     "indexer_k", "optional"},
    {"blk.{}.indexer.proj.weight",     "embd indexer_head", "optional"},
    {"blk.{}.indexer.attn_k.weight",   "embd indexer_k", "optional"},
    {"blk.{}.indexer.attn_q_b.weight", "lora_q indexer_head*indexer_k", "optional"},
};
constexpr GgufRow kEachIndexerRows[] = {
    {"blk.{}.indexer.k_norm.{weight,bias}", "indexer_k"},
    {"blk.{}.indexer.proj.weight",     "embd indexer_head"},
    {"blk.{}.indexer.attn_k.weight",   "embd indexer_k"},
    {"blk.{}.indexer.attn_q_b.weight", "lora_q indexer_head*indexer_k"},
};
constexpr GgufRow kAllHeads[] = {
    {"blk.{}.attn_{q,k,v}",       "embd head*k head*k head*k"},
    {"blk.{}.attn_output.weight", "head*k embd"},
};
// The loader counts the tensor of rope twice where blocks for multi-token prediction follow.
constexpr GgufRow kExaoneMoeRows[] = {
    {"rope_freqs.weight", "rot/two", "optional first !drafts"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd shexp_width", "moe"},
};
constexpr GgufRow kBailing2Rows[] = {
    {"blk.{}.attn_qkv.weight",          "embd embd+2*v_gqa"},
    {"blk.{}.attn_output.weight",       "head*k embd"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd shexp_width*shared", "moe"},
    {"blk.{}.layer_output_norm.weight", "embd", "nextn"},
};
constexpr GgufRow kAfmoeRows[] = {
    {"blk.{}.attn_gate.weight", "embd head*k"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd ff_exp*shared", "moe shared"},
};
constexpr GgufRow kCohere2MoeRows[] = {
    {"blk.{}.ffn_{gate,up}_exps",   "embd exp_or_ff expert", "moe"},
    {"blk.{}.ffn_down_exps.weight", "exp_or_ff embd expert", "moe"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd ff_shexp", "moe shared ff_shexp"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd exp_or_ff*shared", "moe shared !ff_shexp"},
};
// A block is a dense one where it has no router. The graph passes over a gate that is not there.
constexpr GgufRow kHyV3Rows[] = {
    {"blk.{}.ffn_{down,up}.weight",      "embd ff", "!routed read"},
    {"blk.{}.ffn_gate.weight",           "embd ff", "!routed needed"},
    {"blk.{}.ffn_{gate,up,down}.weight", "embd ff", "routed alone optional"},
    {"blk.{}.ffn_gate_inp.weight",       "embd expert", "routed needed"},
    {"blk.{}.exp_probs_b",               "expert", "routed optional"},
    {"blk.{}.ffn_{gate,up}_exps",        "embd expert_width expert", "routed needed"},
    {"blk.{}.ffn_down_exps.weight",      "expert_width embd expert", "routed read"},
    {"blk.{}.ffn_{up,down}_shexp.weight", "embd shexp_width", "routed read"},
    {"blk.{}.ffn_gate_shexp.weight",     "embd shexp_width", "routed needed"},
};
constexpr GgufRow kHunyuanMoeRows[] = {
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd shared_width"},
};
constexpr GgufRow kBlockAttention[] = {   // heads by block
    {"blk.{}.attn_{q,k,v}",       "embd head_i*k k_gqa_i v_gqa_i"},
    {"blk.{}.attn_output.weight", "head_i*v embd"},
};
// Blocks with experts and blocks with an MLP both have these.
constexpr GgufRow kEitherFeed[] = {
    {"blk.{}.ffn_{gate,up,down}.weight", "embd ff", "alone optional"},
    {"blk.{}.ffn_gate_inp.weight",       "embd expert", "alone optional"},
    {"blk.{}.exp_probs_b.bias",          "expert", "alone optional"},
    {"blk.{}.ffn_{gate,down,up}_exps.weight", "embd ff_exp expert", "alone optional"},
};
constexpr GgufRow kStep35Rows[] = {
    {"blk.{}.attn_{q,k}_norm.weight", "k", "optional"},
    {"blk.{}.attn_gate.weight",       "embd head_i", "optional"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd ff_shexp", "alone optional"},
};
constexpr GgufRow kMimo2Rows[] = {
    {"blk.{}.attn_sinks.weight",        "head", "alone optional"},
    {"blk.{}.layer_output_norm.weight", "embd", "nextn optional"},
};
constexpr GgufRow kLagunaRows[] = {
    {"blk.{}.attn_gate.weight", "embd gate_i"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd shexp_width", "moe"},
};
constexpr GgufRow kHyV4Rows[] = {
    {"output_hc_fn.weight",             "streams*embd streams"},
    {"output_hc_base.weight",           "streams"},
    {"output_hc_scale.weight",          "1"},
    {"blk.{}.hc_{attn,ffn}_fn.weight",  "streams*embd 2*streams"},
    {"blk.{}.hc_{attn,ffn}_base.weight", "2*streams"},
    {"blk.{}.hc_{attn,ffn}_scale.weight", "two"},
    {"blk.{}.attn_sinks.weight",        "head"},
    {"blk.{}.attn_gate.weight",         "embd head*v_mla"},
    {"blk.{}.indexer.k_norm.{weight,bias}", "indexer_k", "owns_indexer"},
    {"blk.{}.indexer.proj.weight",      "embd indexer_head", "owns_indexer"},
    {"blk.{}.indexer.attn_k.weight",    "embd indexer_k", "owns_indexer"},
    {"blk.{}.indexer.attn_q_b.weight",  "lora_q indexer_head*indexer_k", "owns_indexer"},
};
constexpr GgufRow kDeepseek4Rows[] = {
    {"output_hc_fn.weight",             "streams*embd streams"},
    {"output_hc_base.weight",           "streams"},
    {"output_hc_scale.weight",          "1"},
    {"blk.{}.hc_{attn,ffn}_fn.weight",  "streams*embd 2*streams+streams*streams"},
    {"blk.{}.hc_{attn,ffn}_base.weight", "2*streams+streams*streams"},
    {"blk.{}.hc_{attn,ffn}_scale.weight", "3"},
    {"blk.{}.attn_sinks.weight",        "head"},
    {"blk.{}.attn_q_a.weight",          "embd lora_q"},
    {"blk.{}.attn_q_a_norm.weight",     "lora_q"},
    {"blk.{}.attn_q_b.weight",          "lora_q head*k"},
    {"blk.{}.attn_kv.weight",           "embd k"},
    {"blk.{}.attn_kv_a_norm.weight",    "k"},
    {"blk.{}.attn_output_a.weight",     "head*k/groups lora_o groups", "reshaped"},
    {"blk.{}.attn_output_b.weight",     "groups*lora_o embd"},
    {"blk.{}.attn_compressor_{kv,gate}.weight", "embd overlap*k", "ratio"},
    {"blk.{}.attn_compressor_ape.weight", "overlap*k ratio", "ratio"},
    {"blk.{}.attn_compressor_norm.weight", "k", "ratio"},
    {"blk.{}.indexer.proj.weight",      "embd indexer_head", "indexed"},
    {"blk.{}.indexer.attn_q_b.weight",  "lora_q indexer_head*indexer_k", "indexed"},
    {"blk.{}.indexer_compressor_{kv,gate}.weight", "embd 2*indexer_k", "indexed"},
    {"blk.{}.indexer_compressor_ape.weight", "2*indexer_k ratio", "indexed"},
    {"blk.{}.indexer_compressor_norm.weight", "indexer_k", "indexed"},
    {"blk.{}.ffn_gate_inp.weight",      "embd expert"},
    {"blk.{}.ffn_gate_tid2eid.weight",  "used vocab", "hashed i32"},
    {"blk.{}.exp_probs_b.bias",         "expert", "!hashed"},
    {"blk.{}.exp_probs_b_vl.bias",      "expert", "alone optional"},
    {"blk.{}.ffn_{gate,down,up}_exps.weight", "embd ff_exp expert"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd ff_exp*shared"},
};
// clang-format on

constexpr GgufRowLists kQwen3MoeLists = {kFrame,         kTiedHead,  kNorms,
                                         kWideAttention, kHeadNorms, kExperts};

// clang-format off
const GgufArchitecture kExpertArchitectures[] = {
    {.names = " llama4 ", .rows = {kFrame, kTiedHead, kNorms, kAttention, kRopeFreqs, kLlama4Rows},
     .keys = "expert_feed_forward_length! interleave_moe_layer_step! attention.sliding_window"
             " attention.sliding_window_pattern rope.freq_base_swa",
     .graph = "turned_whole rope_left_out", .needs_experts = true, .sliding = Sliding::kUnlessZero,
     .sliding_pattern = 4},
    {.names = " olmoe ",
     .rows = {kFrame, kHead, kNorms, kSquareAttention, kOlmoeRows, kPlainExpertRows},
     .graph = "turned_whole", .needs_experts = true},
    {.names = " phimoe ",
     .rows = {kFrame, kHead, kNorms, kSquareAttention, kPhiMoeRows, kPlainExpertRows},
     .graph = "other_values"},
    {.names = " gpt-oss ", .rows = {kFrame, kHead, kPostNorms, kGptOssRows},
     .keys = "expert_feed_forward_length! attention.sliding_window!"
             " attention.sliding_window_pattern rope.freq_base_swa",
     .graph = "turned_whole equal_sliding", .sliding = Sliding::kAlways, .sliding_pattern = 2},
    {.names = " minimax-m2 ",
     .rows = {kFrame, kHead, kNorms, kWideAttention, kMiniMaxRows, kPlainExpertRows},
     .keys = "expert_feed_forward_length! expert_gating_func", .graph = "gates"},
    {.names = " minimax-m3 ",
     .rows = {kFrame, kHead, kNorms, kAttention, kHeadNorms, kLeading, kBiasedRouted, kShared,
              kBlockIndexerRows},
     .keys = "leading_dense_block_count expert_feed_forward_length! expert_shared_count!"
             " expert_weights_scale expert_weights_norm expert_gating_func!"
             " attention.indexer.head_count! attention.indexer.key_length!"
             " attention.indexer.top_k! attention.indexer.block_size!"
             " attention.indexer.local_blocks!", .graph = "gates"},
    {.names = " qwen2moe ", .rows = {kFrame, kHead, kNorms, kQwen2MoeRows, kExperts},
     .keys = "expert_feed_forward_length expert_shared_feed_forward_length",
     .graph = "turned_whole", .needs_experts = true},
    {.names = " qwen3moe ", .rows = kQwen3MoeLists, .keys = "expert_feed_forward_length",
     .graph = "turned_whole", .needs_experts = true},
    {.names = " qwen3vlmoe ", .rows = kQwen3MoeLists,
     .keys = "expert_feed_forward_length rope.dimension_sections! n_deepstack_layers",
     .graph = "turned_whole deepstack", .needs_experts = true},
    {.names = " glm4moe ",
     .rows = {kFrame, kTiedHead, kAttention, kPostNorms, kGlm4MoeRows, kLeading, kNextn},
     .keys = "expert_feed_forward_length! rope.dimension_sections expert_shared_count!"
             " leading_dense_block_count expert_weights_scale expert_weights_norm"
             " expert_gating_func", .graph = "axes_if_said", .needs_experts = true,
     .has_nextn = true, .may_lack_nextn = true},
    {.names = " deepseek2 mistral4 ",
     .rows = {kFrame, kTiedHead, kNorms, kLatentRows, kLeading, kFusedRouted, kShared, kNextn},
     .keys = "vocab_size leading_dense_block_count attention.kv_lora_rank!"
             " attention.key_length_mla attention.value_length_mla expert_feed_forward_length!"
             " expert_shared_count! expert_weights_scale expert_weights_norm expert_gating_func"
             " rope.scaling.yarn_log_multiplier attention.temperature_scale"
             " attention.temperature_length", .graph = "other_values low_rank", .has_nextn = true,
     .may_lack_nextn = true},
    {.names = " glm-dsa ",
     .rows = {kFrame, kTiedHead, kNorms, kLatentRows, kIndexerRows, kLeading, kFusedRouted,
              kShared, kNextn},
     .keys = "expert_feed_forward_length! rope.dimension_sections expert_shared_count!"
             " leading_dense_block_count expert_weights_scale expert_weights_norm"
             " attention.q_lora_rank! attention.kv_lora_rank! attention.key_length_mla"
             " attention.value_length_mla attention.indexer.head_count!"
             " attention.indexer.key_length! attention.indexer.top_k! attention.indexer.types"
             " expert_gating_func", .graph = "other_values mla_alone indexer", .has_nextn = true,
     .may_lack_nextn = true},
    {.names = " deepseek32 ",
     .rows = {kFrame, kTiedHead, kNorms, kLatentRows, kEachIndexerRows, kLeading, kRouted, kShared,
              kNextn},
     .keys = "expert_feed_forward_length! rope.dimension_sections expert_shared_count!"
             " leading_dense_block_count expert_weights_scale expert_weights_norm"
             " attention.q_lora_rank! attention.kv_lora_rank! attention.key_length_mla"
             " attention.value_length_mla attention.indexer.head_count!"
             " attention.indexer.key_length! attention.indexer.top_k! expert_gating_func!"
             " rope.scaling.yarn_log_multiplier",
     .graph = "other_values mla_alone indexer gates", .has_nextn = true, .may_lack_nextn = true},
    {.names = " dots1 ",
     .rows = {kFrame, kHead, kNorms, kAllHeads, kHeadNorms, kLeading, kRouted, kShared},
     .keys = "leading_dense_block_count expert_feed_forward_length! expert_shared_count!"
             " expert_weights_scale expert_weights_norm expert_gating_func",
     .graph = "turned_whole gates all_heads"},
    {.names = " exaone-moe ",
     .rows = {kFrame, kHead, kNorms, kWideAttention, kHeadNorms, kExaoneMoeRows, kLeading, kRouted,
              kNextn},
     .keys = "attention.sliding_window! attention.sliding_window_pattern rope.freq_base_swa"
             " expert_shared_count expert_feed_forward_length! expert_shared_feed_forward_length"
             " expert_gating_func! expert_weights_scale expert_weights_norm"
             " leading_dense_block_count", .graph = "turned_whole gates dense_nextn",
     .has_nextn = true, .sliding = Sliding::kAlways, .sliding_pattern = 4},
    {.names = " bailingmoe2 ",
     .rows = {kFrame, kHead, kNorms, kHeadNorms, kBailing2Rows, kLeading, kRouted, kNextn},
     .keys = "leading_dense_block_count expert_feed_forward_length! expert_shared_count!"
             " expert_shared_feed_forward_length expert_weights_scale expert_weights_norm"
             " expert_gating_func!", .graph = "gates", .needs_experts = true, .has_nextn = true},
    {.names = " afmoe ",
     .rows = {kFrame, kTiedHead, kNorms, kAttention, kHeadNorms, kOutputNorms, kLeading,
              kBiasedRouted, kAfmoeRows},
     .keys = "leading_dense_block_count expert_feed_forward_length! expert_shared_count!"
             " expert_gating_func expert_weights_scale expert_weights_norm attention.sliding_window"
             " attention.sliding_window_pattern rope.freq_base_swa", .graph = "slides_only",
     .sliding = Sliding::kIfSaid, .sliding_pattern = 4},
    {.names = " cohere2moe ",
     .rows = {kFrame, kTiedHead, kInputNorm, kWideAttention, kLeading, kCohere2MoeRows, kNextn},
     .norm = "attention.layer_norm_epsilon attention.layer_norm_rms_epsilon",
     .keys = "attention.sliding_window! attention.sliding_window_pattern rope.freq_base_swa"
             " logit_scale! leading_dense_block_count! expert_feed_forward_length!"
             " expert_shared_feed_forward_length expert_shared_count expert_weights_norm"
             " expert_weights_scale expert_gating_func", .graph = "turned_whole first_is_full",
     .needs_experts = true, .has_nextn = true, .may_lack_nextn = true,
     .sliding = Sliding::kAlways, .sliding_pattern = 4},
    {.names = " hy_v3 ",
     .rows = {kFrame, kTiedHead, kNorms, kAttention, kHeadNorms, kHyV3Rows, kNextn},
     .keys = "expert_feed_forward_length! expert_shared_feed_forward_length expert_gating_func"
             " expert_weights_scale expert_weights_norm", .graph = "turned_whole dense_if_fed",
     .has_nextn = true, .may_lack_nextn = true},
    {.names = " hunyuan-moe ",
     .rows = {kFrame, kTiedHead, kNorms, kAttention, kHeadNorms, kPlainExpertRows,
              kHunyuanMoeRows},
     .keys = "expert_feed_forward_length! expert_shared_feed_forward_length",
     .graph = "turned_whole"},
    {.names = " step35 ",
     .rows = {kFrame, kHead, kNorms, kBlockAttention, kRopeFreqs, kStep35Rows, kEitherFeed, kNextn},
     .keys = "expert_feed_forward_length! expert_shared_feed_forward_length expert_gating_func"
             " expert_weights_scale expert_weights_norm attention.sliding_window!"
             " attention.sliding_window_pattern! rope.freq_base_swa swiglu_clamp_exp"
             " swiglu_clamp_shexp", .has_nextn = true, .may_lack_nextn = true,
     .sliding = Sliding::kAlways},
    {.names = " mimo2 ",
     .rows = {kFrame, kHead, kNorms, kBlockAttention, kMimo2Rows, kEitherFeed, kNextn},
     .keys = "expert_feed_forward_length! attention.sliding_window! rope.freq_base_swa"
             " attention.sliding_window_pattern! attention.value_scale", .graph = "other_values",
     .has_nextn = true, .may_lack_nextn = true, .sliding = Sliding::kAlways},
    {.names = " laguna ",
     .rows = {kFrame, kTiedHead, kNorms, kBlockAttention, kHeadNorms, kLeading, kBiasedRouted,
              kLagunaRows},
     .keys = "leading_dense_block_count! expert_feed_forward_length! expert_gating_func"
             " expert_weights_scale expert_weights_norm expert_shared_count"
             " expert_shared_feed_forward_length attention.sliding_window"
             " attention.sliding_window_pattern rope.freq_base_swa rope.dimension_count_swa",
     .graph = "first_is_full", .sliding = Sliding::kIfSaid, .sliding_pattern = 4},
    {.names = " hy_v4 ",
     .rows = {kFrame, kHead, kNorms, kLatentRows, kHyV4Rows, kLeading, kRouted, kShared},
     .keys = "leading_dense_block_count attention.q_lora_rank! attention.kv_lora_rank!"
             " attention.key_length_mla! attention.value_length_mla! expert_feed_forward_length!"
             " expert_shared_count! expert_weights_scale expert_weights_norm expert_gating_func"
             " swiglu_clamp_exp hyper_connection.count! hyper_connection.epsilon!"
             " hyper_connection.magnitude! attention.indexer.head_count"
             " attention.indexer.key_length attention.indexer.top_k attention.indexer.types",
     .graph = "other_values mla_alone", .needs_experts = true},
    {.names = " deepseek4 ", .rows = {kFrame, kHead, kNorms, kDeepseek4Rows, kNextn},
     .keys = "attention.q_lora_rank! attention.sliding_window! expert_feed_forward_length!"
             " expert_shared_count! expert_weights_scale! expert_weights_norm! swiglu_clamp_exp!"
             " swiglu_clamp_shexp attention.indexer.head_count! attention.indexer.key_length!"
             " attention.indexer.top_k! attention.output_group_count!"
             " attention.output_lora_rank! attention.compress_rope_freq_base!"
             " hyper_connection.count! hyper_connection.sinkhorn_iterations!"
             " hyper_connection.epsilon! hash_layer_count! attention.compress_ratios:A!"
             " expert_gating_func!", .graph = "compressing one_key_head", .has_nextn = true,
     .sliding = Sliding::kAlways},
};
// clang-format on

}  // namespace

std::span<const GgufArchitecture> expert_architectures() { return kExpertArchitectures; }

}  // namespace ckpt::gguf_rows
