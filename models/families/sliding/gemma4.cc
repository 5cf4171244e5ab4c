// Gemma 4: layers of two kinds of attention with heads of two sizes, embeddings of every layer, the
// last layers without keys and values of their own.
//
// Sources: llama.cpp conversion/gemma.py (Gemma4Model); transformers models/gemma4. Norms are
// stored as they are; the gate and up of experts stay one tensor; fields of full attention are
// global_head_dim and num_global_key_value_heads, or in per_layer_config.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// Returns a number of a layer with full attention. With per_layer_config it is the one of the
// layer's entry there, or else `field`, which counts for all layers; without, it is `root`.
Result<uint64_t> of_full_layer(const Fields& fields, std::string_view field,
                               std::string_view root) {
  const JsonValue* layers = known(fields.config(), "per_layer_config");
  if (layers == nullptr) return fields.count(root);
  const JsonValue* own = known(*layers, std::to_string(fields.layer().value_or(0)));
  const auto number = whole(known(own, field));
  return number ? Result<uint64_t>(*number) : fields.count(field);
}
Result<uint64_t> full_head(const Fields& fields) {
  const bool is_silent = known(fields.config(), "per_layer_config") == nullptr &&
                         !fields.config().contains("global_head_dim");
  return is_silent ? Result<uint64_t>(512) : of_full_layer(fields, "head_dim", "global_head_dim");
}
// The class reads num_global_key_value_heads only if attention_k_eq_v is true.
Result<uint64_t> full_key_heads(const Fields& fields) {
  constexpr std::string_view kUsual = "num_key_value_heads", kRoot = "num_global_key_value_heads";
  const bool is_root_read =
      fields.is_true("attention_k_eq_v") && known(fields.config(), kRoot) != nullptr;
  return of_full_layer(fields, kUsual, is_root_read ? kRoot : kUsual);
}
Result<uint64_t> stores_values(const Fields& fields) {
  return fields.is_true("attention_k_eq_v") ? 0 : 1;
}
// Returns how many layers have keys and values of their own. Those behind them use another's.
Result<uint64_t> own_layers(const Fields& fields) {
  CKPT_ASSIGN(const uint64_t all, fields.count("num_hidden_layers"));
  CKPT_ASSIGN(const uint64_t shared, fields.count_or_zero("num_kv_shared_layers"));
  return all - std::min(all, shared);
}
Result<uint64_t> shared_width(const Fields& fields) {
  return fields.count("intermediate_size").map([&](uint64_t width) {
    return fields.is_true("use_double_wide_mlp") ? 2 * width : width;
  });
}

// clang-format off
constexpr auto kGemma4Rows = spread([] { return std::to_array<ParameterRule>({
    {"lm_head.weight", "vocab_size hidden_size", kWhole, "head"},
    {".layer_scalar",                          "1"},
    {".self_attn.q_proj.weight", "num_attention_heads*head_dim hidden_size", kRows,
     "sliding_attention"},
    {".self_attn.q_proj.weight", "num_attention_heads*full_head hidden_size", kRows,
     "full_attention"},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*head_dim", kColumns,
     "sliding_attention"},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*full_head", kColumns,
     "full_attention"},
    {".self_attn.q_norm.weight", "head_dim", kWhole, "sliding_attention"},
    {".self_attn.q_norm.weight", "full_head", kWhole, "full_attention"},
    {".self_attn.{k,v}_proj.weight", "num_key_value_heads*head_dim hidden_size", kRows,
     "sliding_attention below:own_layers"},
    {".self_attn.k_proj.weight", "full_key_heads*full_head hidden_size", kRows,
     "full_attention below:own_layers"},
    {".self_attn.v_proj.weight", "full_key_heads*full_head hidden_size", kRows,
     "full_attention below:own_layers stores_values"},
    {".self_attn.k_norm.weight", "head_dim", kWhole, "sliding_attention below:own_layers"},
    {".self_attn.k_norm.weight", "full_head", kWhole, "full_attention below:own_layers"},
    // Released checkpoints hold these for layers that use another layer's; no program reads them.
    {".self_attn.{k,v}_proj.weight", "num_key_value_heads*head_dim hidden_size", kRows,
     "sliding_attention from:own_layers optional"},
    {".self_attn.{k,v}_proj.weight", "full_key_heads*full_head hidden_size", kRows,
     "full_attention from:own_layers optional"},
    {".self_attn.k_norm.weight", "head_dim", kWhole, "sliding_attention from:own_layers optional"},
    {".self_attn.k_norm.weight", "full_head", kWhole, "full_attention from:own_layers optional"},
    {".mlp.{gate,up}_proj.weight", "intermediate_size hidden_size", kRows, "below:own_layers"},
    {".mlp.down_proj.weight", "hidden_size intermediate_size", kColumns, "below:own_layers"},
    {".mlp.{gate,up}_proj.weight", "shared_width hidden_size", kRows, "from:own_layers"},
    {".mlp.down_proj.weight", "hidden_size shared_width", kColumns, "from:own_layers"},
    {".{pre,post}_feedforward_layernorm_2.weight", "hidden_size", kWhole, "enable_moe_block"},
    {".post_feedforward_layernorm_1.weight", "hidden_size", kWhole, "enable_moe_block"},
    {".router.proj.weight", "num_experts hidden_size", kWhole, "enable_moe_block"},
    {".router.scale", "hidden_size", kWhole, "enable_moe_block"},
    {".router.per_expert_scale", "num_experts", kWhole, "enable_moe_block"},
    {".experts.gate_up_proj", "num_experts 2*moe_intermediate_size hidden_size", kRows,
     "enable_moe_block stacked"},
    {".experts.down_proj", "num_experts hidden_size moe_intermediate_size", kColumns,
     "enable_moe_block stacked"},
    {".experts.{}.{gate,up}_proj.weight", "moe_intermediate_size hidden_size", kRows,
     "enable_moe_block separate"},
    {".experts.{}.down_proj.weight", "hidden_size moe_intermediate_size", kColumns,
     "enable_moe_block separate"},
}); });
constexpr auto kGemma4Names = spread([] { return std::to_array<NameRule>({
    {"model.embed_tokens_per_layer",                 "per_layer_token_embd"},
    {"model.layers.{}.pre_feedforward_layernorm_2",  "blk.{}.pre_ffw_norm_2"},
    {"model.layers.{}.post_feedforward_layernorm_{1,2}", "blk.{}.post_ffw_norm_{1,2}"},
    {"model.layers.{}.layer_scalar",                 "blk.{}.layer_output_scale.weight"},
    {"model.layers.{}.router.proj",                  "blk.{}.ffn_gate_inp", kNone, Store::kF32},
    {"model.layers.{}.router.{scale,per_expert_scale}", "blk.{}.ffn_{gate_inp,down_exps}.scale"},
    {"model.layers.{}.experts.{gate_up,down}_proj", "blk.{}.ffn_{gate_up,down}_exps.weight"},
}); });
constexpr auto kGemma4Keys = spread([] { return std::to_array<KeyRule>({
    {"final_logit_softcapping",          kF32, "final_logit_softcapping", kFieldUnlessZero},
    {"attention.sliding_window",         kU32, "", kSlidingWindow},
    {"attention.shared_kv_layers",       kU32, "num_kv_shared_layers"},
    {"embedding_length_per_layer_input", kU32, "hidden_size_per_layer_input", kFieldOrZero},
    {"attention.sliding_window_pattern", kArray, "", kSlidingPattern},
    {"attention.{key,value}_length", kU32, "", kFullHead},
    {"attention.{key,value}_length_swa", kU32, "head_dim"},
    {"expert_feed_forward_length",       kU32, "expert_intermediate_size moe_intermediate_size"},
    {"feed_forward_length",              kArray, "", kWideFeedForward},
    {"attention.head_count_kv",          kArray, "", kFullOrSlidingHeads},
    {"rope.dimension_count",             kU32, "", kFullHead},
    {"rope.dimension_count_swa",         kU32, "", kSlidingRotary},
}); });
constexpr ClassDefault kGemma4Defaults[] = {
    {"hidden_size", "2304"}, {"intermediate_size", "9216"}, {"head_dim", "256"},
    {"num_attention_heads", "8"}, {"num_key_value_heads", "4"}, {"rms_norm_eps", "1e-6", kInKeys},
    {"vocab_size", "262144"}, {"max_position_embeddings", "131072", kInKeys},
    {"sliding_window", "512", kInKeys}, {"num_kv_shared_layers", "0", kInKeys},
    {"hidden_size_per_layer_input", "256"}, {"num_hidden_layers", "30", kInShapes},
    {"vocab_size_per_layer_input", "262144", kInShapes}, {"tie_word_embeddings", "1", kInShapes},
    {.field = "full_head", .value = "", .read_by = kInShapes, .compute = full_head},
    {.field = "full_key_heads", .value = "", .read_by = kInShapes, .compute = full_key_heads},
    {.field = "stores_values", .value = "", .read_by = kInShapes, .compute = stores_values},
    {.field = "own_layers", .value = "", .read_by = kInShapes, .compute = own_layers},
    {.field = "shared_width", .value = "", .read_by = kInShapes, .compute = shared_width},
};
// clang-format on

}  // namespace

const Family kGemma4 = {
    .name = "gemma4",
    .architectures = "Gemma4ForCausalLM Gemma4ForConditionalGeneration",
    .model_types = "gemma4_text gemma4",
    .activation = kGemmaGelu,
    .traits = {.text = {.set = {kSharesCache, kPerLayerInputs, kStackedExperts, kStackedAlone}}},
    .names = {kGemma4Names, rows::kGemmaLayerNames, rows::kCommonNames},
    .keys = kGemma4Keys,
    .keys_around = {.own_spellings = "num_experts top_k_experts moe_intermediate_size"},
    .defaults = kGemma4Defaults,
    .rope = {.by_default = R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                               "rope_theta": 1000000.0}})",
             .is_proportional = true},
    .parameters = {rows::kGemmaLayers, rows::kLayerInputs, kGemma4Rows},
    .sizes = {.full_head = "full_head", .full_key_heads = "full_key_heads"},
    .tokenizer = {.byte_fallback = ByteFallback::kAsGemma4,
                  .adds_bos = true,
                  .adds_space_prefix = false},
    .windows = {.period = 6, .end_in_full = true},
};

}  // namespace ckpt
