// Architectures of GGUF without routed experts, or where they take the place of the MLP. Sources:
// llama.cpp v0.5.0 src/models/{llama,granite,granite-moe,mistral3,smollm3,seed-oss,qwen2,qwen2vl,
// qwen3,qwen3vl,olmo,olmo2,phi2,phi3,gemma,gemma2,gemma3,gemma4,command-r,cohere2,stablelm,
// gemma3n,starcoder2,gptneox,exaone,exaone4,glm4,ernie4-5,arcee,apertus,chatglm,hunyuan-vl,
// internlm2,minicpm,minicpm3,t5,t5encoder}.cpp.
#include "models/gguf/rows.h"

namespace ckpt::gguf_rows {
namespace {

// clang-format off
constexpr GgufRow kBiasedAttentionRows[] = {
    {"blk.{}.attn_{q,k,v}",       "embd embd v_gqa v_gqa", "biased"},
    {"blk.{}.attn_output.weight", "embd embd"},
};
constexpr GgufRow kOutputBias[] = {{"output.bias", "vocab", "optional"}};
constexpr GgufRow kRanking[] = {{"cls.output.weight", "embd labels", "optional"}};
constexpr GgufRow kEmbeddingRows[] = {{"token_embd.weight", "embd vocab"}};
constexpr GgufRow kOlmo2Rows[] = {
    {"blk.{}.attn_q_norm.weight",         "embd"},
    {"blk.{}.attn_k_norm.weight",         "embd/head*head_kv"},
};
constexpr GgufRow kPhi2Rows[] = {
    {"output_norm.bias",        "embd"},
    {"output.bias",             "vocab"},
    {"blk.{}.attn_norm.{weight,bias}", "embd"},
    {"blk.{}.attn_output.bias", "embd"},
};
constexpr GgufRow kBiasedFeed[] = {
    {"blk.{}.ffn_down.weight",  "ff embd"},
    {"blk.{}.ffn_down.bias",    "embd"},
    {"blk.{}.ffn_up.weight",    "embd ff"},
    {"blk.{}.ffn_up.bias",      "ff"},
};
constexpr GgufRow kPhi3Rows[] = {
    {"rope_factors_{long,short}.weight", "rot/two", "optional first"},
};
constexpr GgufRow kGemma4Rows[] = {
    {"per_layer_token_embd.weight", "per_layer*trunk_count vocab", "per_layer"},
    {"per_layer_model_proj.weight", "embd per_layer*trunk_count", "per_layer"},
    {"per_layer_proj_norm.weight",  "per_layer", "per_layer"},
    {"rope_freqs.weight",           "k_i/two", "full_first"},
    {"blk.{}.attn_q.weight",        "embd k_i*head_i"},
    {"blk.{}.attn_k.weight",        "embd k_gqa_i", "has_kv"},
    {"blk.{}.attn_k.weight",        "embd k_gqa_i", "!has_kv optional"},
    {"blk.{}.attn_v.weight",        "embd v_gqa_i", "alone optional"},
    {"blk.{}.attn_output.weight",   "k_i*head_i embd"},
    {"blk.{}.attn_q_norm.weight",   "k_i"},
    {"blk.{}.attn_k_norm.weight",   "k_i", "has_kv"},
    {"blk.{}.attn_k_norm.weight",   "k_i", "!has_kv optional"},
    {"blk.{}.layer_output_scale.weight", "1", "optional"},
    {"blk.{}.ffn_{gate,up,down}.weight", "embd ff_i"},
    {"blk.{}.ffn_gate_inp.weight",  "embd expert", "routed"},
    {"blk.{}.ffn_gate_inp.scale",   "embd", "routed"},
    {"blk.{}.ffn_down_exps.scale",  "expert", "routed optional"},
    {"blk.{}.{pre_ffw_norm_2,post_ffw_norm_1,post_ffw_norm_2}.weight", "embd", "routed"},
    {"blk.{}.ffn_{gate,up}_exps",     "embd ff_exp expert", "routed"},
    {"blk.{}.ffn_down_exps.weight",   "ff_exp embd expert", "routed"},
    {"blk.{}.inp_gate.weight",        "embd per_layer", "per_layer"},
    {"blk.{}.proj.weight",            "per_layer embd", "per_layer"},
    {"blk.{}.post_norm.weight",       "embd", "per_layer"},
};
// Sizes that the loader fixes, whatever the file says.
constexpr GgufRow kGemma3nRows[] = {
    {"altup_{proj,unembd_proj}.weight",  "embd embd 3"},
    {"per_layer_token_embd.weight",      "256*trunk_count vocab"},
    {"per_layer_model_proj.weight",      "embd 256*trunk_count"},
    {"per_layer_proj_norm.weight",       "256"},
    {"blk.{}.inp_gate.weight",           "embd 256"},
    {"blk.{}.proj.weight",               "256 embd"},
    {"blk.{}.{post_norm,altup_correct_scale,altup_router_norm,laurel_post_norm}.weight", "embd"},
    {"blk.{}.altup_correct_coef.weight", "4 4"},
    {"blk.{}.altup_predict_coef.weight", "4 16"},
    {"blk.{}.altup_router.weight",       "embd 4"},
    {"blk.{}.laurel_l.weight",           "embd 64"},
    {"blk.{}.laurel_r.weight",           "64 embd"},
};
// Command R+ has 64 layers.
constexpr GgufRow kCommandRows[] = {
    {"blk.{}.attn_q_norm.weight", "k head",    "plus"},
    {"blk.{}.attn_k_norm.weight", "k head_kv", "plus"},
};
constexpr GgufRow kStableLmRows[] = {
    {"output_norm.bias",          "embd"},
    {"blk.{}.attn_norm.{weight,bias}", "embd"},
    {"blk.{}.attn_q_norm.weight", "k head", "optional"},
    {"blk.{}.attn_k_norm.weight", "k head_kv", "optional"},
    {"blk.{}.ffn_norm.weight",    "embd", "optional"},
    {"blk.{}.ffn_norm.bias",      "embd", "optional"},
};
constexpr GgufRow kStarcoder2Rows[] = {
    {"output_norm.bias",        "embd"},
    {"blk.{}.attn_norm.bias",   "embd"},
    {"blk.{}.attn_output.bias", "embd"},
    {"blk.{}.ffn_norm.bias",    "embd"},
};
constexpr GgufRow kGptNeoxRows[] = {
    {"blk.{}.attn_qkv.weight",    "embd embd+2*v_gqa"},
    {"blk.{}.attn_qkv.bias",      "embd+2*v_gqa"},
    {"blk.{}.attn_output.weight", "embd embd"},
};
constexpr GgufRow kExaone4Rows[] = {
    {"blk.{}.attn_{q,k,v}",       "embd head*k k_gqa v_gqa"},
    {"blk.{}.attn_output.weight", "embd embd"},
    {"blk.{}.nextn.eh_proj.weight",          "2*embd embd", "nextn"},
    {"blk.{}.nextn.{e,h}norm.weight",        "embd", "nextn"},
    {"blk.{}.nextn.shared_head_norm.weight", "embd", "nextn optional"},
};
constexpr GgufRow kOutputBiases[] = {{"blk.{}.attn_output.bias", "embd", "optional"}};
constexpr GgufRow kApertusRows[] = {{"blk.{}.attn_{q,k}_norm.bias", "k", "optional"}};
constexpr GgufRow kErnieRows[] = {
    {"blk.{}.exp_probs_b.bias",      "expert", "moe optional"},
    {"blk.{}.ffn_gate_exps.weight",  "embd ff_exp expert", "moe optional"},
    {"blk.{}.ffn_{down,up}_exps.weight", "embd ff_exp expert", "moe"},
    {"blk.{}.ffn_{gate,up,down}_shexp.weight", "embd ff_shexp", "moe ff_shexp"},
};
constexpr GgufRow kT5Frame[] = {
    {"token_embd.weight",      "embd vocab"},
    {"enc.output_norm.weight", "embd"},
};
// Only the first block needs relative distances: the graph uses them for blocks that have none.
constexpr GgufRow kT5EncoderRows[] = {
    {"enc.blk.{}.{attn,ffn}_norm.weight", "embd", "encodes"},
    {"enc.blk.{}.attn_rel_b.weight",      "head buckets", "encodes first"},
    {"enc.blk.{}.attn_rel_b.weight",      "head buckets", "encodes !first alone optional"},
    {"enc.blk.{}.attn_{q,k}.weight",      "embd k_gqa", "encodes"},
    {"enc.blk.{}.attn_v.weight",          "embd v_gqa", "encodes"},
    {"enc.blk.{}.attn_o.weight",          "v_gqa embd", "encodes"},
    {"enc.blk.{}.ffn_gate.weight",        "embd ff", "encodes optional"},
    {"enc.blk.{}.ffn_up.weight",          "embd ff", "encodes"},
    {"enc.blk.{}.ffn_down.weight",        "ff embd", "encodes"},
};
constexpr GgufRow kT5DecoderRows[] = {
    {"dec.output_norm.weight", "embd"},
    {"dec.blk.{}.{attn,cross_attn,ffn}_norm.weight", "embd", "decodes"},
    {"dec.blk.{}.attn_rel_b.weight",           "head buckets", "decodes first"},
    {"dec.blk.{}.attn_rel_b.weight",           "head buckets", "decodes !first alone optional"},
    {"dec.blk.{}.cross_attn_rel_b.weight",     "head buckets", "decodes alone optional"},
    {"dec.blk.{}.{attn,cross_attn}_{q,k}.weight", "embd k_gqa", "decodes"},
    {"dec.blk.{}.{attn,cross_attn}_v.weight",  "embd v_gqa", "decodes"},
    {"dec.blk.{}.{attn,cross_attn}_o.weight",  "v_gqa embd", "decodes"},
    {"dec.blk.{}.ffn_gate.weight",             "embd ff", "decodes optional"},
    {"dec.blk.{}.ffn_up.weight",               "embd ff", "decodes"},
    {"dec.blk.{}.ffn_down.weight",             "ff embd", "decodes"},
};
// clang-format on

constexpr GgufRowLists kLlamaLists = {kFrame,        kTiedHead, kNorms,     kAttention,
                                      kOutputBiases, kRope,     kLlamaFeed, kGraniteShared};
constexpr GgufRowLists kQwen2Lists = {kFrame, kTiedHead, kOutputBias, kNorms, kBiasedAttentionRows,
                                      kDense};
constexpr GgufRowLists kQwen3Lists = {kFrame,         kTiedHead,  kRanking, kNorms,
                                      kWideAttention, kHeadNorms, kDense};

constexpr std::string_view kLayerNorm = "attention.layer_norm_epsilon!";

// clang-format off
const GgufArchitecture kDenseArchitectures[] = {
    {.names = " llama ", .rows = kLlamaLists, .keys = "vocab_size", .graph = "turned_whole"},
    {.names = " granite ", .rows = kLlamaLists,
     .keys = "logit_scale! residual_scale embedding_scale attention.scale"
             " expert_shared_feed_forward_length deepstack_mapping",
     .graph = "turned_whole heads_of_block"},
    {.names = " granitemoe ", .rows = kLlamaLists,
     .keys = "logit_scale! residual_scale embedding_scale attention.scale"
             " expert_shared_feed_forward_length", .graph = "turned_whole heads_of_block"},
    {.names = " mistral3 ", .rows = kLlamaLists,
     .keys = "attention.temperature_scale rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow"
             " rope.scaling.yarn_log_multiplier", .graph = "turned_whole"},
    {.names = " smollm3 ", .rows = {kFrame, kTiedHead, kNorms, kAttention, kDense},
     .graph = "turned_whole"},
    {.names = " seed_oss ", .rows = {kFrame, kTiedHead, kPostNorms, kAttention, kDense},
     .graph = "turned_whole"},
    {.names = " qwen2 ", .rows = kQwen2Lists, .graph = "turned_whole"},
    {.names = " qwen2vl ", .rows = kQwen2Lists, .norm = "", .keys = "rope.dimension_sections!",
     .graph = "turned_whole"},
    {.names = " qwen3 ", .rows = kQwen3Lists, .graph = "turned_whole"},
    {.names = " qwen3vl ", .rows = kQwen3Lists,
     .keys = "rope.dimension_sections! n_deepstack_layers", .graph = "turned_whole deepstack"},
    {.names = " olmo ", .rows = {kEmbeddingRows, kTiedHead, kSquareAttention, kDense},
     .norm = kLayerNorm, .keys = "attention.clamp_kqv", .graph = "turned_whole"},
    {.names = " olmo2 ", .rows = {kFrame, kHead, kSquareAttention, kOlmo2Rows, kOutputNorms,
              kDense},
     .keys = "attention.sliding_window attention.sliding_window_pattern rope.freq_base_swa",
     .graph = "turned_whole", .sliding = Sliding::kIfSaid, .sliding_pattern = 4},
    {.names = " phi2 ", .rows = {kFrame, kHead, kSquareAttention, kPhi2Rows, kBiasedFeed},
     .norm = kLayerNorm},
    {.names = " phi3 ",
     .rows = {kFrame, kTiedHead, kNorms, kSquareAttention, kFusedFeed, kPhi3Rows},
     .keys = "attention.sliding_window"},
    {.names = " gemma ", .rows = {kFrame, kNorms, kAttention, kDense}, .graph = "other_values"},
    {.names = " gemma2 ", .rows = {kFrame, kNorms, kAttention, kOutputNorms, kDense},
     .keys = "attention.sliding_window attention.sliding_window_pattern rope.freq_base_swa"
             " attn_logit_softcapping final_logit_softcapping", .graph = "other_values",
     .sliding = Sliding::kAlways, .sliding_pattern = 2},
    {.names = " gemma3 ",
     .rows = {kFrame, kTiedHead, kDenseLayers, kNorms, kAttention, kHeadNorms, kOutputNorms,
              kDense},
     .keys = "attention.sliding_window attention.sliding_window_pattern rope.freq_base_swa"
             " final_logit_softcapping", .graph = "other_values", .sliding = Sliding::kIfSaid,
     .sliding_pattern = 6},
    {.names = " gemma3n ",
     .rows = {kFrame, kTiedHead, kNorms, kAttention, kHeadNorms, kOutputNorms, kDense,
              kGemma3nRows},
     .keys = "attention.sliding_window! attention.sliding_window_pattern rope.freq_base_swa",
     .sliding = Sliding::kAlways, .sliding_pattern = 5},
    {.names = " gemma4 ", .rows = {kFrame, kTiedHead, kNorms, kOutputNorms, kGemma4Rows},
     .keys = "attention.sliding_window! attention.sliding_window_pattern:A!"
             " attention.shared_kv_layers rope.freq_base_swa expert_feed_forward_length"
             " embedding_length_per_layer_input! attention.key_length_swa!"
             " attention.value_length_swa! final_logit_softcapping", .graph = "sharing",
     .sliding = Sliding::kAlways},
    {.names = " command-r ", .rows = {kFrame, kInputNorm, kCommandRows, kSquareAttention, kDense},
     .norm = kLayerNorm, .keys = "logit_scale"},
    {.names = " cohere2 ", .rows = {kFrame, kInputNorm, kSquareAttention, kDense},
     .norm = kLayerNorm,
     .keys = "logit_scale! attention.sliding_window! attention.sliding_window_pattern"
             " rope.freq_base_swa", .sliding = Sliding::kAlways, .sliding_pattern = 4},
    {.names = " stablelm ", .rows = {kFrame, kHead, kSquareAttention, kStableLmRows, kDense},
     .norm = kLayerNorm},
    {.names = " starcoder2 ",
     .rows = {kFrame, kTiedHead, kNorms, kSquareAttention, kStarcoder2Rows, kBiasedFeed},
     .norm = kLayerNorm, .graph = "turned_whole"},
    {.names = " gptneox ",
     .rows = {kFrame, kHead, kNorms, kGptNeoxRows, kStarcoder2Rows, kBiasedFeed},
     .norm = kLayerNorm, .keys = "use_parallel_residual!"},
    {.names = " exaone4 ",
     .rows = {kFrame, kTiedHead, kExaone4Rows, kRopeFreqs, kOutputNorms, kHeadNorms, kDense},
     .keys = "attention.sliding_window", .graph = "turned_whole", .has_nextn = true,
     .sliding = Sliding::kOf64Layers, .sliding_pattern = 4},
    {.names = " glm4 ",
     .rows = {kFrame, kTiedHead, kNorms, kAttention, kOutputNorms, kFusedFeed, kNextn},
     .keys = "rope.dimension_sections", .graph = "axes_if_said", .has_nextn = true},
    {.names = " ernie4_5 paddleocr ",
     .rows = {kFrame, kTiedHead, kNorms, kWideAttention, kOutputBiases, kDense},
     .keys = "rope.dimension_sections", .graph = "turned_whole"},
    {.names = " ernie4_5-moe ",
     .rows = {kFrame, kTiedHead, kNorms, kWideAttention, kOutputBiases, kLeading, kErnieRows},
     .keys = "rope.dimension_sections expert_feed_forward_length!"
             " expert_shared_feed_forward_length interleave_moe_layer_step!"
             " leading_dense_block_count", .graph = "turned_whole"},
    {.names = " arcee ", .rows = {kFrame, kTiedHead, kNorms, kAttention, kRopeFreqs, kGateless},
     .graph = "turned_whole"},
    {.names = " apertus ",
     .rows = {kFrame, kHead, kNorms, kWideAttention, kOutputBiases, kHeadNorms, kApertusRows, kRope,
              kGateless},
     .keys = "/xielu.alpha_n! /xielu.alpha_p! /xielu.beta! /xielu.eps!", .graph = "turned_whole"},
    {.names = " chatglm ", .rows = {kFrame, kTiedHead, kNorms, kSquareAttention, kFusedFeed}},
    {.names = " hunyuan-dense ",
     .rows = {kFrame, kTiedHead, kNorms, kAttention, kHeadNorms, kDense},
     .keys = "rope.dimension_sections", .graph = "turned_whole lone_expert"},
    {.names = " hunyuan_vl ",
     .rows = {kFrame, kTiedHead, kNorms, kAttention, kHeadNorms, kDense},
     .keys = "rope.dimension_sections rope.scaling.alpha", .graph = "turned_whole lone_expert"},
    {.names = " exaone ", .rows = {kFrame, kTiedHead, kNorms, kAttention, kRopeFreqs, kDense},
     .graph = "turned_whole"},
    {.names = " internlm2 ", .rows = {kFrame, kHead, kNorms, kSquareAttention, kDense},
     .graph = "turned_whole"},
    {.names = " minicpm ",
     .rows = {kFrame, kTiedHead, kNorms, kAttention, kOutputBiases, kRope, kLlamaFeed},
     .keys = "logit_scale residual_scale embedding_scale", .graph = "turned_whole heads_of_block"},
    {.names = " minicpm3 ",
     .rows = {kFrame, kTiedHead, kNorms, kLatentRows, kPhi3Rows, kDense},
     .keys = "attention.q_lora_rank! attention.kv_lora_rank!", .graph = "other_values all_heads"},
    {.names = " t5 ", .rows = {kT5Frame, kTiedHead, kT5EncoderRows, kT5DecoderRows},
     .keys = "attention.relative_buckets_count! decoder_block_count decoder_start_token_id!",
     .graph = "no_rope all_heads heads_of_block decodes"},
    {.names = " t5encoder ", .rows = {kT5Frame, kTiedHead, kT5EncoderRows},
     .keys = "attention.relative_buckets_count!", .graph = "no_rope all_heads"},
};
// clang-format on

}  // namespace

std::span<const GgufArchitecture> dense_architectures() { return kDenseArchitectures; }

}  // namespace ckpt::gguf_rows
