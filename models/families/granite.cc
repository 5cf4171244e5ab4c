// Granite 3, dense and with experts; Granite 4: layers of Mamba 2 and of attention, experts with a
// shared MLP, or that MLP alone.
//
// Sources: llama.cpp conversion/granite.py (GraniteModel, GraniteMoeModel, GraniteHybridModel),
// mamba.py (Mamba2Model); transformers models/granite{,moe,moeshared,moehybrid}. Keys have no
// defaults of Granite 4's class, as the converter reads its config.json as it stands. That class
// gives four kinds of files; without Mamba layers it is "granite" or "granitemoe". With them
// positions are not rotary, the declared context is 2^20, and tokens are padded to a multiple of 8,
// though the embedding is not; query and key rows are permuted anyway.
#include <algorithm>

#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kGraniteAttention = rows::under("attention", rows::kAttention);
constexpr auto kGraniteBias = rows::under("attention attention_bias", rows::kAllBias);
constexpr auto kGraniteMamba = spread([] { return std::to_array<ParameterRule>({
    {".mamba.in_proj.bias",
     "2*mamba_expand*hidden_size+2*mamba_n_groups*mamba_d_state+mamba_n_heads", kRows,
     "mamba mamba_proj_bias"},
    {".mamba.out_proj.bias",   "hidden_size", kWhole, "mamba mamba_proj_bias"},
    {".mamba.{A_log,D,dt_bias}", "mamba_n_heads", kRows, "mamba"},
    {".mamba.conv1d.weight",
     "mamba_expand*hidden_size+2*mamba_n_groups*mamba_d_state 1 mamba_d_conv", kRows, "mamba"},
    {".mamba.conv1d.bias", "mamba_expand*hidden_size+2*mamba_n_groups*mamba_d_state", kRows,
     "mamba mamba_conv_bias"},
    {".mamba.in_proj.weight",
     "2*mamba_expand*hidden_size+2*mamba_n_groups*mamba_d_state+mamba_n_heads hidden_size", kRows,
     "mamba"},
    {".mamba.norm.weight",     "mamba_expand*hidden_size", kRows, "mamba"},
    {".mamba.out_proj.weight", "hidden_size mamba_expand*hidden_size", kColumns, "mamba"},
}); });
constexpr auto kGraniteExperts = rows::under("num_local_experts", {
    {".block_sparse_moe.router.layer.weight", "num_local_experts hidden_size"},
    {".block_sparse_moe.input_linear.weight", "num_local_experts 2*intermediate_size hidden_size",
     kRows},
    {".block_sparse_moe.output_linear.weight", "num_local_experts hidden_size intermediate_size",
     kColumns},
});
constexpr auto kGraniteSharedMlp = rows::under("shared_intermediate_size", {
    {".shared_mlp.input_linear.weight",  "2*shared_intermediate_size hidden_size", kRows},
    {".shared_mlp.output_linear.weight", "hidden_size shared_intermediate_size", kColumns},
});
constexpr NameRule kGraniteNames[] = {   // before the common rows: the first match wins
    {"model.layers.{}.self_attn.q_proj",    "blk.{}.attn_q", kRopeQuery},
    {"model.layers.{}.self_attn.k_proj",    "blk.{}.attn_k", kRopeKey},
    {"model.layers.{}.mamba.A_log",         "blk.{}.ssm_a", kDecayColumn},
    {"model.layers.{}.mamba.D",             "blk.{}.ssm_d", kColumn},
    {"model.layers.{}.mamba.conv1d.weight", "blk.{}.ssm_conv1d.weight", kSqueeze, Store::kF32},
    {"model.layers.{}.mamba.conv1d.bias",   "blk.{}.ssm_conv1d.bias"},
    {"model.layers.{}.mamba.dt_bias",       "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.mamba.in_proj",       "blk.{}.ssm_in"},
    {"model.layers.{}.mamba.norm",          "blk.{}.ssm_norm", kNormGroups},
    {"model.layers.{}.mamba.out_proj",      "blk.{}.ssm_out"},
};
constexpr NameRule kGraniteExpertNames[] = {
    {"model.layers.{}.block_sparse_moe.router.layer",  "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.block_sparse_moe.input_linear.weight", "blk.{}.ffn_gate_exps.weight",
     kExpertsGateUp, Store::kByRules, "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.block_sparse_moe.output_linear", "blk.{}.ffn_down_exps"},
    {"model.layers.{}.shared_mlp.input_linear.weight", "blk.{}.ffn_gate_shexp.weight",
     kExpertsGateUp, Store::kByRules, "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.shared_mlp.output_linear",       "blk.{}.ffn_down_shexp"},
};
constexpr NameRule kGraniteDenseNames[] = {
    {"model.layers.{}.shared_mlp.input_linear.weight", "blk.{}.ffn_gate.weight", kExpertsGateUp,
     Store::kByRules, "blk.{}.ffn_up.weight"},
    {"model.layers.{}.shared_mlp.output_linear", "blk.{}.ffn_down"},
};
// The first of these are Granite 3's too.
constexpr size_t kGranite3Keys = 8;
constexpr auto kGraniteKeys = spread([] { return std::to_array<KeyRule>({
    {"vocab_size",                        kU32, "vocab_size"},
    {"rope.dimension_count",              kU32, "hidden_size/num_attention_heads", kNumber},
    {"attention.scale",                   kF32, "attention_multiplier", kFieldUnlessZero},
    {"{embedding,residual}_scale", kF32, "{embedding,residual}_multiplier", kFieldUnlessZero},
    {"logit_scale",                       kF32, "logits_scaling", kFieldUnlessZero},
    // Granite Vision's.
    {"deepstack_mapping", kArray, "deepstack_layer_map spatial_target_layers", kDeepstackMapping},
    {"expert_shared_feed_forward_length", kU32, "shared_intermediate_size", kFieldUnlessZero},
    {"ssm.{conv_kernel,state_size,group_count}", kU32, "mamba_{d_conv,d_state,n_groups}", kNumber},
    {"ssm.inner_size",                    kU32, "mamba_expand*hidden_size", kNumber},
    {"ssm.time_step_rank",                kU32, "mamba_n_heads", kNumber},
    {"rope.dimension_count",              kU32, "attn_rotary_emb", kFieldUnlessZero},
    {"attention.head_count_kv",           kArray, "num_key_value_heads", kAttentionHeads},
}); });
constexpr ClassDefault kGraniteHybridDefaults[] = {
    {"vocab_size", "32000", kInShapes}, {"hidden_size", "4096", kInShapes},
    {"intermediate_size", "11008", kInShapes}, {"num_hidden_layers", "32", kInShapes},
    {"num_attention_heads", "32", kInShapes},
    {"num_key_value_heads", "num_attention_heads", kInShapes}, rows::kHeadOfWidth,
    {"num_local_experts", "8", kInShapes}, {"shared_intermediate_size", "1024", kInShapes},
    {"mamba_n_heads", "128", kInShapes}, {"mamba_n_groups", "1", kInShapes},
    {"mamba_d_state", "256", kInShapes}, {"mamba_d_conv", "4", kInShapes},
    {"mamba_expand", "2", kInShapes}, {"mamba_conv_bias", "1", kInShapes},
};
// Granite 3 with experts; models without experts lack the last two of these defaults.
constexpr ClassDefault kGranite3Defaults[] = {
    {"hidden_size", "4096"}, {"intermediate_size", "11008"}, {"num_attention_heads", "32"},
    rows::kAllKeyHeads, {"rms_norm_eps", "1e-6", kInKeys}, {"rope_theta", "10000", kInKeys},
    {"vocab_size", "32000"}, {"max_position_embeddings", "2048", kInKeys},
    {"attention_multiplier", "1", kInKeys}, {"embedding_multiplier", "1", kInKeys},
    {"residual_multiplier", "1", kInKeys}, {"logits_scaling", "1", kInKeys},
    {"num_hidden_layers", "32", kInShapes}, rows::kHeadOfWidth, {"num_local_experts", "8"},
    {"num_experts_per_tok", "2", kInKeys},
};
constexpr size_t kGranite3DenseDefaults = std::size(kGranite3Defaults) - 2;
constexpr KeyRule kMambaGraniteKeys[] = {
    {"rope.scaling.finetuned", kBool, "false", kConstant},
    {"context_length",         kU32, "1048576", kNumber},
};
constexpr KeyRule kAttentionGraniteKeys[] = {
    {"rope.scaling.finetuned", kBool, "true", kConstant},
};
// clang-format on

constexpr RowLists<NameRule> kGraniteLists{kGraniteNames, kGraniteExpertNames, rows::kCommonNames};
constexpr RowLists<NameRule> kGraniteDenseLists{kGraniteNames, kGraniteDenseNames,
                                                rows::kCommonNames};
bool has_no_experts(const JsonValue& config) {
  return !is_truthy(known(config, "num_local_experts"));
}
bool has_no_mamba(const JsonValue& config) {
  const JsonValue* types = known(config, "layer_types");
  return types != nullptr && std::ranges::all_of(*types, [](const JsonValue& type) {
           return type == "attention" || type == "full_attention";
         });
}
constexpr GraphConstants kTurnedConstants{{"position_embedding_type", "\"rope\""}};
constexpr GraphConstants kUnturnedConstants{{"position_embedding_type", "\"nope\""}};
constexpr std::string_view kAbsentInGguf =
    "position_embedding_type (rope, as llama.cpp computes such files)";

void add_mamba_head(const GraphConfig& made) {
  const uint64_t heads = count_in(made.config, "mamba_n_heads");
  const uint64_t inner =
      count_in(made.config, "mamba_expand") * count_in(made.config, "hidden_size");
  if (heads > 0 && inner % heads == 0) made.config["mamba_d_head"] = inner / heads;
}

constexpr Family granite(std::string_view name, const RowLists<NameRule>& names,
                         std::span<const FamilyVariant> variants = {}) {
  const bool is_hybrid = name == "granitehybrid";
  return {
      .name = name,
      .architectures = "GraniteMoeHybridForCausalLM",
      .model_types = "granitemoehybrid",
      .traits = {.text = {.set = {kMambaHeadsFillWidth, kActivationSilu, kSiluExperts,
                                  kNeedsRopeType, kMayRotateNothing, kSlowTokenizerByType},
                          .layer_types = {"mamba", "attention"},
                          .told_fields = {{"mamba_conv_bias", "ssm_conv1d.bias"}},
                          .vllm_names = {{".mamba.", ".mixer."}}}},
      .names = names,
      .keys = kGraniteKeys,
      .keys_around = {.more = is_hybrid ? std::span<const KeyRule>(kMambaGraniteKeys)
                                        : std::span<const KeyRule>(kAttentionGraniteKeys)},
      .defaults = kGraniteHybridDefaults,
      .parameters = {rows::kFrame, kGraniteAttention, kGraniteBias, kGraniteMamba, kGraniteExperts,
                     kGraniteSharedMlp},
      .forms = {.variants = variants},
      .sizes = {.norm_groups = is_hybrid ? "mamba_n_groups" : "",
                .ignores_head_dim = true,
                .vocabulary_multiple = is_hybrid ? uint64_t{8} : uint64_t{1}},
      .graph = {.constants = is_hybrid ? kUnturnedConstants : kTurnedConstants,
                .add_fields = add_mamba_head,
                .absent_fields =
                    is_hybrid
                        ? "max_position_embeddings (such files say 1048576, whatever the model "
                          "was trained for)"
                        : kAbsentInGguf},
  };
}
constexpr Family granite3(Family made) {
  // The width of a shared MLP is the last of these keys; without experts there is none.
  const size_t keys = made.name == "granite" ? kGranite3Keys - 1 : kGranite3Keys;
  made.keys = std::span<const KeyRule>(kGraniteKeys).first(keys);
  made.sizes.ignores_head_dim = true;
  made.tokenizer = kLlamaTokenizer;
  made.rope.refused = "llama3";
  made.graph.constants = kTurnedConstants;
  made.graph.absent_fields = kAbsentInGguf;
  return made;
}

const Family kGraniteDense = granite("granite", kGraniteDenseLists);
const FamilyVariant kGraniteMoeVariants[] = {{has_no_experts, &kGraniteDense}};
const Family kGraniteMoe = granite("granitemoe", kGraniteLists, kGraniteMoeVariants);
const Family kGraniteHybridDense = granite("granitehybrid", kGraniteDenseLists);
const FamilyVariant kGraniteVariants[] = {{has_no_mamba, &kGraniteMoe},
                                          {has_no_experts, &kGraniteHybridDense}};

// The text part of Granite Vision may be a later Granite.
bool is_hybrid_text(const JsonValue& config) {
  return text_in(config, "model_type") == "granitemoehybrid";
}
const FamilyVariant kGranite3Variants[] = {{is_hybrid_text, &kGraniteHybrid}};

}  // namespace

const Family kGraniteHybrid = granite("granitehybrid", kGraniteLists, kGraniteVariants);

const Family kGranite3 = granite3({
    .name = "granite",
    .architectures = "GraniteForCausalLM Granite4VisionForConditionalGeneration",
    .model_types = "granite granite4_vision",
    .traits = {.text = {.set = {kActivationSilu, kNeedsRopeType, kSlowTokenizerByType}}},
    .names = kGraniteDenseLists,
    .defaults = std::span<const ClassDefault>(kGranite3Defaults).first(kGranite3DenseDefaults),
    .parameters = rows::kLlamaRules,
    .forms = {.variants = kGranite3Variants},
});

const Family kGranite3Moe = granite3({
    .name = "granitemoe",
    .architectures = "GraniteMoeForCausalLM",
    .model_types = "granitemoe",
    .traits = {.text = {.set = {kNeedsRopeType, kSlowTokenizerByType}}},
    .names = kGraniteLists,
    .defaults = kGranite3Defaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, kGraniteExperts},
});

const Family kGranite3Shared = granite3({
    .name = "granitemoe",
    .architectures = "GraniteMoeSharedForCausalLM",
    .model_types = "granitemoeshared",
    .traits = {.text = {.set = {kActivationSilu, kSiluExperts, kNeedsRopeType,
                                kSlowTokenizerByType}}},
    .names = kGraniteLists,
    .defaults = kGranite3Defaults,
    .parameters = {rows::kFrame, rows::kAttention, rows::kAttentionBias, kGraniteExperts,
                   kGraniteSharedMlp},
});

}  // namespace ckpt
