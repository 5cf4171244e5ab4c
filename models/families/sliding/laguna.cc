// Laguna: attention with windows has more heads and another RoPE, a gate scales the output of
// attention by head or by value, and routed experts have a shared one.
//
// Sources: llama.cpp conversion/laguna.py (LagunaModel); transformers models/laguna.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kLagunaLayer = spread([] { return std::to_array<ParameterRule>({
    {".self_attn.q_proj.weight", "num_attention_heads_per_layer*head_dim hidden_size", kRows},
    {".self_attn.{k,v}_proj.weight", "num_key_value_heads*head_dim hidden_size", kRows},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads_per_layer*head_dim", kColumns},
    {".self_attn.g_proj.weight", "num_attention_heads_per_layer*gate_width hidden_size", kRows},
    {".mlp.gate.weight",         "num_experts hidden_size", kWhole, "sparse"},
    {".mlp.experts.e_score_correction_bias", "num_experts", kWhole, "sparse"},
}); });
constexpr rows::Rules kLagunaShared = std::span(rows::kSharedExpert).first(3);
constexpr NameRule kLagunaNames[] = {
    {"model.layers.{}.self_attn.g_proj",                    "blk.{}.attn_gate"},
    {"model.layers.{}.mlp.experts.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
};
constexpr auto kLagunaKeys = spread([] { return std::to_array<KeyRule>({
    {"vocab_size",                        kU32, "vocab_size"},
    {"attention.head_count", kArray, "num_attention_heads_per_layer num_attention_heads",
     kCountsOfLayers},
    {"attention.sliding_window",          kU32, "sliding_window", kFieldUnlessZero},
    {"expert_feed_forward_length",        kU32, "moe_intermediate_size", kNumber},
    {"expert_shared_feed_forward_length", kU32, "shared_expert_intermediate_size", kNumber},
    {"expert_weights_norm",               kBool, "true", kConstant},
    {"expert_weights_scale",              kF32, "moe_routed_scaling_factor"},
    {"expert_gating_func",                kU32, "2", kNumber},  // sigmoid
    {"leading_dense_block_count",         kU32, "", kLeadingDense},
    {"rope.dimension_{count,count_swa}", kU32, "{full,sliding}_attention", kRotaryOfKind},
}); });

// How many values of a head one gate scales; llama.cpp tells by the width of the gate.
Result<uint64_t> gate_width(const Fields& fields) {
  const JsonValue* gating = fields.declared("gating");
  if (gating == nullptr || !gating->is_string() || *gating == "per-head") return 1;
  return fields.count("head_dim");
}

constexpr ClassDefault kLagunaDefaults[] = {
    {"vocab_size", "100352"}, {"hidden_size", "2048"}, {"intermediate_size", "8192"},
    {"num_hidden_layers", "40", kInShapes}, {"num_attention_heads", "48"},
    {"num_key_value_heads", "8"}, {"max_position_embeddings", "131072", kInKeys},
    {"rms_norm_eps", "1e-6", kInKeys}, rows::if_absent("sliding_window", "512", kInKeys),
    {"moe_intermediate_size", "512"}, {"shared_expert_intermediate_size", "512"},
    {"num_experts_per_tok", "8", kInKeys}, {"num_experts", "256"}, {"head_dim", "128"},
    {"moe_routed_scaling_factor", "1", kInKeys}, {"first_k_dense_replace", "1", kInShapes},
    {"num_attention_heads_per_layer", "num_attention_heads", kInShapes}, rows::kAllSparse,
    {.field = "gate_width", .value = "", .read_by = kInShapes, .compute = gate_width},
};
// clang-format on

// One dictionary for each kind of attention.
void nest_rope(const GraphConfig& made) {
  JsonValue full = made.rope, sliding = {{"rope_type", "default"}};
  if (!full.contains("rope_type")) full["rope_type"] = "default";
  for (const auto& [from, to] : {std::pair("rope_local_base_freq", "rope_theta"),
                                 std::pair("sliding_rotary_factor", "partial_rotary_factor")}) {
    if (const JsonValue* value = known(made.config, from)) sliding[to] = *value;
    made.config.erase(from);
  }
  made.config.erase("partial_rotary_factor");
  made.config["rope_parameters"] = {{"full_attention", std::move(full)}};
  if (sliding.contains("rope_theta")) {
    made.config["rope_parameters"]["sliding_attention"] = std::move(sliding);
  }
}

}  // namespace

const Family kLaguna = {
    .name = "laguna",
    .architectures = "LagunaForCausalLM",
    .model_types = "laguna",
    .traits = {.text = {.set = {kListsMlpTypes}, .head_gate = "attn_gate"}},
    .names = {kLagunaNames, rows::kGateFirstExpertNames, rows::kExpertNames, rows::kCommonNames},
    .keys = kLagunaKeys,
    .defaults = kLagunaDefaults,
    .rope = {.by_default = R"({"full_attention": {"rope_type": "default", "rope_theta": 500000.0,
                               "partial_rotary_factor": 0.5},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0,
                                  "partial_rotary_factor": 1.0}})"},
    .parameters = {rows::kFrame, rows::kAttentionNorms, kLagunaLayer, rows::kMlp,
                   rows::kExpertProjections, kLagunaShared},
    .tokenizer = {.prefers_template_file = true,
                  .control_token = "</assistant>",
                  .ends_by_config = true},
    .graph = {.constants = {{"moe_router_logit_softcapping", "0.0"}}, .add_fields = nest_rope},
    .windows = {.period = 1},  // in llama.cpp the first of each four layers has full attention
};

}  // namespace ckpt
