// The list of families, and the rows that most of them share.
//
// Order of kCommonKeys is the order of the keys in the file (llama.cpp conversion/base.py
// set_gguf_parameters); a field that is absent gives no key.
#include "transforms/to_gguf/families/families.h"

namespace ckpt {
namespace {

// clang-format off
constexpr NameRule kCommonNameRows[] = {
    {"lm_head",                                  "output"},
    {"model.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm"},
    {"model.embed_tokens",                       "token_embd"},
    {"model.norm",                               "output_norm"},
    {"model.layers.{}.input_layernorm",          "blk.{}.attn_norm"},
    {"model.layers.{}.self_attn.q_proj",         "blk.{}.attn_q"},
    {"model.layers.{}.self_attn.k_proj",         "blk.{}.attn_k"},
    {"model.layers.{}.self_attn.v_proj",         "blk.{}.attn_v"},
    {"model.layers.{}.self_attn.o_proj",         "blk.{}.attn_output"},
    {"model.layers.{}.self_attn.q_norm",         "blk.{}.attn_q_norm"},
    {"model.layers.{}.self_attn.k_norm",         "blk.{}.attn_k_norm"},
    {"model.layers.{}.mlp.gate_proj",            "blk.{}.ffn_gate"},
    {"model.layers.{}.mlp.up_proj",              "blk.{}.ffn_up"},
    {"model.layers.{}.mlp.down_proj",            "blk.{}.ffn_down"},
};

constexpr NameRule kExpertNameRows[] = {
    {"model.layers.{}.mlp.gate",                       "blk.{}.ffn_gate_inp",
     Change::kNone, Store::kF32},
    {"model.layers.{}.mlp.experts.{}.down_proj",       "blk.{}.ffn_down_exps", Change::kExpert},
    {"model.layers.{}.mlp.experts.{}.gate_proj",       "blk.{}.ffn_gate_exps", Change::kExpert},
    {"model.layers.{}.mlp.experts.{}.up_proj",         "blk.{}.ffn_up_exps",   Change::kExpert},
    {"model.layers.{}.mlp.experts.gate_up_proj",       "blk.{}.ffn_gate_exps.weight",
     Change::kExpertsGateUp, Store::kByRules,          "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.gate_up_proj.weight", "blk.{}.ffn_gate_exps.weight",
     Change::kExpertsGateUp, Store::kByRules,          "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.down_proj",          "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.mlp.experts.down_proj.weight",   "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.mlp.shared_expert.gate_proj",    "blk.{}.ffn_gate_shexp"},
    {"model.layers.{}.mlp.shared_expert.up_proj",      "blk.{}.ffn_up_shexp"},
    {"model.layers.{}.mlp.shared_expert.down_proj",    "blk.{}.ffn_down_shexp"},
    {"model.layers.{}.mlp.shared_expert_gate",         "blk.{}.ffn_gate_inp_shexp",
     Change::kNone, Store::kF32},
};

constexpr NameRule kRoutedExpertNameRows[] = {
    {"model.layers.{}.mlp.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.mlp.shared_experts.gate_proj",     "blk.{}.ffn_gate_shexp"},
    {"model.layers.{}.mlp.shared_experts.up_proj",       "blk.{}.ffn_up_shexp"},
    {"model.layers.{}.mlp.shared_experts.down_proj",     "blk.{}.ffn_down_shexp"},
};

constexpr NameRule kNextnNameRows[] = {
    {"model.layers.{}.eh_proj",          "blk.{}.nextn.eh_proj"},
    {"model.layers.{}.enorm",            "blk.{}.nextn.enorm"},
    {"model.layers.{}.hnorm",            "blk.{}.nextn.hnorm"},
    {"model.layers.{}.shared_head.norm", "blk.{}.nextn.shared_head_norm"},
    {"model.layers.{}.shared_head.head", "blk.{}.nextn.shared_head_head"},
    {"model.layers.{}.embed_tokens",     "blk.{}.nextn.embed_tokens"},
};

constexpr KeyRule kCommonKeyRows[] = {
    {"block_count",         MetaType::kU32, "", KeySource::kBlockCount},
    {"context_length",      MetaType::kU32,
     "max_position_embeddings n_ctx n_positions max_length max_sequence_length model_max_length"},
    {"embedding_length",    MetaType::kU32, "hidden_size n_embd dim"},
    {"feed_forward_length", MetaType::kU32,
     "prefix_dense_intermediate_size dense_intermediate_size intermediate_size n_inner hidden_dim"},
    {"attention.head_count",    MetaType::kU32, "num_attention_heads n_head n_heads"},
    {"attention.head_count_kv", MetaType::kU32, "num_key_value_heads n_kv_heads"},
    {"attention.causal",        MetaType::kBool, "is_causal", KeySource::kCausal},
    {"rope.scaling",            MetaType::kText, "", KeySource::kRopeScaling},
    {"rope.dimension_sections", MetaType::kArray, "mrope_section", KeySource::kRopeSections},
    {"rope.freq_base",          MetaType::kF32, "", KeySource::kRopeBase},
    {"rope.freq_base_swa",      MetaType::kF32, "", KeySource::kRopeBaseSliding},
    {"attention.layer_norm_rms_epsilon", MetaType::kF32, "rms_norm_eps norm_eps"},
    {"attention.layer_norm_epsilon",     MetaType::kF32,
     "layer_norm_eps layer_norm_epsilon norm_epsilon"},
    {"expert_count",            MetaType::kU32, "num_local_experts num_experts n_routed_experts"},
    {"expert_used_count",       MetaType::kU32,
     "num_experts_per_tok num_experts_per_token top_k_experts"},
    {"expert_group_count",      MetaType::kU32, "n_group"},
    {"expert_group_used_count", MetaType::kU32, "topk_group"},
    {"expert_gating_func",      MetaType::kU32,
     "score_function scoring_func score_func moe_router_activation moe_router_activation_func "
     "expert_selection_fn", KeySource::kGatingFunction},
    {"attention.key_length",    MetaType::kU32, "head_dim"},
    {"attention.value_length",  MetaType::kU32, "head_dim"},
    {"general.file_type",       MetaType::kU32, "", KeySource::kFileType},
};
// clang-format on

// The way back takes the first of one name that fits: OLMo 3 is OLMo 2 with windows.
const Family* const kFamilies[] = {
    &kQwen35,     &kQwen35Moe,   &kQwen3,          &kQwen3Moe,      &kQwen2,      &kQwen2Moe,
    &kLlama,      &kMistral,     &kMixtral,        &kPhi3,          &kGemma,      &kGemma2,
    &kGemma3,     &kGemma4,      &kSmolLm3,        &kOlmo3,         &kOlmo2,      &kSeedOss,
    &kMiniMaxM2,  &kGlm4Moe,     &kMinistral3,     &kMistral3,      &kLfm2,       &kLfm2Moe,
    &kQwen3Next,  &kGptOss,      &kLlama4,         &kDeepseekV3,    &kGlmMoeDsa,  &kGlm4MoeLite,
    &kGranite3,   &kGranite3Moe, &kGranite3Shared, &kGraniteHybrid, &kNemotronH,  &kQwen3Vl,
    &kQwen3VlMoe, &kOlmo,        &kOlmoe,          &kExaone4,       &kGlm4,       &kStarcoder2,
    &kStableLm,   &kCohere,      &kCohere2,        &kPhi2,          &kDeepseekV2, &kPhiMoe,
    &kErnie,      &kErnieMoe,    &kGptNeox,        &kQwen2Vl,       &kQwen25Vl};

}  // namespace

const std::span<const NameRule> kCommonNames = kCommonNameRows;
const std::span<const NameRule> kOneNormNames = kCommonNames.subspan(2);
const std::span<const NameRule> kExpertNames = kExpertNameRows;
const std::span<const NameRule> kRoutedExpertNames = kRoutedExpertNameRows;
const std::span<const NameRule> kNextnNames = kNextnNameRows;
const std::span<const KeyRule> kCommonKeys = kCommonKeyRows;

std::span<const Family* const> families() { return kFamilies; }

}  // namespace ckpt
