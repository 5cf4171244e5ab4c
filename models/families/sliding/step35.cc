// Step 3.5: heads by kind of attention, a gate for each head, experts with a shared one, limits of
// SwiGLU by layer. Layers for multi-token prediction follow the last, and lists count them too.
//
// Sources: llama.cpp conversion/step3.py (Step35Model), which fills in no defaults of the class;
// modeling_step3p5.py, which is published with the models. Norms are stored minus one.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kStepFull = spread([] { return rows::under("full_attention", {
    {".self_attn.q_proj.weight", "num_attention_heads*head_dim hidden_size", kRows},
    {".self_attn.{k,v}_proj.weight", "num_attention_groups*head_dim hidden_size", kRows},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*head_dim", kColumns},
    {".self_attn.g_proj.weight", "num_attention_heads hidden_size", kRows},
}); });
constexpr auto kStepSliding = spread([] { return rows::under("sliding_attention", {
    {".self_attn.q_proj.weight", "sliding_heads*head_dim hidden_size", kRows},
    {".self_attn.{k,v}_proj.weight", "sliding_groups*head_dim hidden_size", kRows},
    {".self_attn.o_proj.weight", "hidden_size sliding_heads*head_dim", kColumns},
    {".self_attn.g_proj.weight", "sliding_heads hidden_size", kRows},
}); });
constexpr auto kStepExperts = spread([] { return std::to_array<ParameterRule>({
    {".moe.gate.weight",      "moe_num_experts hidden_size", kWhole, "sparse"},
    {".moe.router_bias",      "moe_num_experts", kWhole, "sparse"},
    {".moe.gate_proj.weight", "moe_num_experts moe_intermediate_size hidden_size", kRows, "sparse"},
    {".moe.up_proj.weight",   "moe_num_experts moe_intermediate_size hidden_size", kRows, "sparse"},
    {".moe.down_proj.weight", "moe_num_experts hidden_size moe_intermediate_size", kColumns,
     "sparse"},
    {".share_expert.{gate,up}_proj.weight", "share_expert_dim hidden_size", kRows, "sparse"},
    {".share_expert.down_proj.weight", "hidden_size share_expert_dim", kColumns, "sparse"},
    {".transformer.shared_head.norm.weight",   "hidden_size", kWhole, "nextn optional"},
    {".transformer.shared_head.output.weight", "vocab_size hidden_size", kWhole, "nextn optional"},
}); });
constexpr rows::Rules kStepNextn = std::span(rows::kNextn).first(3);
constexpr auto kStepNames = spread([] { return std::to_array<NameRule>({
    {"model.norm",                                "output_norm", kAddOne},
    {"model.layers.{}.{input,post_attention}_layernorm", "blk.{}.{attn,ffn}_norm", kAddOne},
    {"model.layers.{}.self_attn.{q,k}_norm", "blk.{}.attn_{q,k}_norm", kAddOne},
    {"model.layers.{}.self_attn.g_proj",          "blk.{}.attn_gate"},
    {"model.layers.{}.moe.gate",                  "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.moe.router_bias",           "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.moe.{gate,up,down}_proj", "blk.{}.ffn_{gate,up,down}_exps"},
    {"model.layers.{}.share_expert.{gate,up,down}_proj", "blk.{}.ffn_{gate,up,down}_shexp"},
    {"model.layers.{}.eh_proj",                   "blk.{}.nextn.eh_proj"},
    {"model.layers.{}.{e,h}norm", "blk.{}.nextn.{e,h}norm", kAddOne},
    {"model.layers.{}.transformer.shared_head.norm", "blk.{}.nextn.shared_head_norm", kAddOne},
    {"model.layers.{}.transformer.shared_head.output", "blk.{}.nextn.shared_head_head"},
}); });
constexpr auto kStepKeys = spread([] { return std::to_array<KeyRule>({
    {"attention.head_count",    kArray, "num_attention_heads sliding_heads", kCountsOfKinds},
    {"attention.head_count_kv", kArray, "num_attention_groups sliding_groups", kCountsOfKinds},
    {"attention.sliding_window",          kU32, "sliding_window", kNumber},
    {"attention.sliding_window_pattern",  kArray, "", kSlidingPattern},
    {"expert_{count,used_count,feed_forward_length}", kU32,
     "moe_{num_experts,top_k,intermediate_size}", kNumber},
    {"expert_shared_feed_forward_length", kU32, "share_expert_dim", kNumber},
    {"expert_weights_scale",              kF32, "moe_router_scaling_factor"},
    {"expert_weights_norm",               kBool, "norm_expert_weight"},
    {"leading_dense_block_count",         kU32, "moe_layers_enum", kLeadingDense},
    {"moe_every_n_layers",                kU32, "moe_every_n_layer", kNumber},
    {"swiglu_clamp_{exp,shexp}", kArray, "swiglu_{limits,limits_shared}", kLimits},
    {"nextn_predict_layers",              kU32, "", kNextnLayers},
}); });

// The number for layers with windows; where it is absent, that of the other layers counts.
template <const char* kField>
Result<uint64_t> sliding_count(const Fields& fields) {
  const JsonValue* found = known(known(fields.config(), "attention_other_setting"), kField);
  const auto count = found == nullptr ? std::nullopt : whole(*found);
  return count ? Result<uint64_t>(*count) : fields.count(kField);
}
constexpr char kHeads[] = "num_attention_heads", kGroups[] = "num_attention_groups";

constexpr ClassDefault kStepDefaults[] = {
    {.field = "sliding_heads", .value = "", .read_by = kInShapes, .compute = sliding_count<kHeads>},
    {.field = "sliding_groups", .value = "", .read_by = kInShapes,
     .compute = sliding_count<kGroups>},
    {"num_key_value_heads", "num_attention_groups", kInShapes}, {"rms_norm_eps", "1e-5", kInKeys},
    {"moe_every_n_layer", "1", kInShapes}, {"vocab_size", "128815", kInShapes},
    {"hidden_size", "4096", kInShapes}, {"intermediate_size", "11264", kInShapes},
    {"num_hidden_layers", "45", kInShapes}, {"num_attention_heads", "64", kInShapes},
    {"num_attention_groups", "8", kInShapes}, {"head_dim", "128", kInShapes},
    {"moe_num_experts", "288", kInShapes}, {"moe_intermediate_size", "1280", kInShapes},
    {"share_expert_dim", "1280", kInShapes},
    {"num_experts", "moe_num_experts", kInShapes}, rows::kAllSparse,
};
// clang-format on

// llama.cpp turns half of a head where attention is full, and all of it elsewhere.
bool has_other_shares(const JsonValue& config) {
  const JsonValue& types = list_in(config, "layer_types");
  const JsonValue& shares = list_in(config, "partial_rotary_factors");
  for (size_t i = 0; i < types.size(); ++i) {
    const double expected = types[i] == "sliding_attention" ? 1.0 : 0.5;
    if (i < shares.size() ? shares[i] != expected : expected != 0.5) return true;
  }
  return false;
}
void add_step_fields(const GraphConfig& made) {
  JsonValue& config = made.config;
  JsonValue other = {{"attention_type", "sliding_attention"}};
  for (const auto& [from, to] : {std::pair("sliding_heads", kHeads),
                                 std::pair("sliding_groups", kGroups)}) {
    if (const JsonValue* count = known(config, from)) other[to] = *count;
    config.erase(from);
  }
  if (const JsonValue* size = known(config, "head_dim")) other["head_dim"] = *size;
  config["attention_other_setting"] = std::move(other);
  JsonValue shares = JsonValue::array(), bases = JsonValue::array();
  const JsonValue *full = known(made.rope, "rope_theta"),
                  *local = known(config, "rope_local_base_freq");
  for (const JsonValue& type : list_in(config, "layer_types")) {
    const bool slides = type == "sliding_attention";
    shares.push_back(slides ? 1.0 : 0.5);
    if (full != nullptr && local != nullptr) bases.push_back(slides ? *local : *full);
  }
  config["partial_rotary_factors"] = std::move(shares);
  if (!bases.empty()) config["rope_theta"] = std::move(bases);
}
constexpr FamilyVariant kStepVariants[] = {
    {has_other_shares, nullptr, "a Step 3.5 model with other partial_rotary_factors than 0.5 for "
                                "full attention and 1 for windows"}};

}  // namespace

const Family kStep35 = {
    .name = "step35",
    .architectures = "Step3p5ForCausalLM",
    .model_types = "step3p5",
    .traits = {.text = {.set = {kListsRopeTheta, kListsDraftsToo},
                        .told_fields = {{"use_head_wise_attn_gate", "attn_gate.weight"},
                                        {"use_moe_router_bias", "exp_probs_b.bias"}},
                        .vllm_names = {{".moe.gate_proj", ".moe.experts"},
                                       {".moe.up_proj", ".moe.experts"},
                                       {".moe.down_proj", ".moe.experts"},
                                       {".share_expert.", ".moe.share_expert."}}}},
    .names = {kStepNames, rows::kCommonNames},
    .keys = kStepKeys,
    .keys_around = {.own_spellings = "intermediate_size moe_router_activation"},
    .defaults = kStepDefaults,
    .rope = {.has_factors = true},
    .parameters = {rows::kFrame, kStepFull, kStepSliding, rows::kAttentionNorms, rows::kMlp,
                   kStepExperts, kStepNextn},
    .forms = {.variants = kStepVariants},
    .drafts = {.are_behind = true, .nextn = NextnLayers::kKept},
    .graph = {.constants = {{"zero_centered", "true"},
                            {"use_moe", "true"},
                            {"use_qk_norm", "true"}},
              .add_fields = add_step_fields},
    .windows = {.period = 1},
};

}  // namespace ckpt
