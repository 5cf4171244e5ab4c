// Cohere North: Cohere 2's layers with experts; the first layers are dense.
//
// Sources: llama.cpp conversion/command_r.py (Cohere2MoeModel), which fills in no defaults of the
// class; transformers models/cohere2_moe. llama.cpp's graph averages what shared experts and the
// others give.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kCohere2MoeLayer = spread([] { return std::to_array<ParameterRule>({
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"model.norm.weight",         "hidden_size"},
    {"lm_head.weight",            "vocab_size hidden_size", kWhole, "head"},
    {".input_layernorm.weight",   "hidden_size"},
    {".mlp.{gate,up}_proj.weight", "dense_width hidden_size", kRows, "dense"},
    {".mlp.down_proj.weight", "hidden_size dense_width", kColumns, "dense"},
    {".mlp.gate.weight",      "num_experts hidden_size", kWhole, "sparse"},
    {".mlp.shared_experts.{gate,up}_proj.weight",
     "num_shared_experts*intermediate_size hidden_size", kRows, "sparse num_shared_experts"},
    {".mlp.shared_experts.down_proj.weight", "hidden_size num_shared_experts*intermediate_size",
     kColumns, "sparse num_shared_experts"},
}); });
constexpr auto kCohere2MoeNames = spread([] { return std::to_array<NameRule>({
    {"lm_head", "output"},
    {"model.layers.{}.mlp.shared_experts.{gate,up,down}_proj", "blk.{}.ffn_{gate,up,down}_shexp"},
}); });
constexpr KeyRule kCohere2MoeKeys[] = {
    {"logit_scale",                      kF32, "logit_scale"},
    {"attention.sliding_window",         kU32, "sliding_window"},
    {"attention.sliding_window_pattern", kArray, "", kSlidingPattern},
    {"vocab_size",                       kU32, "vocab_size"},
    {"expert_feed_forward_length",       kU32, "intermediate_size", kNumber},
    {"leading_dense_block_count",        kU32, "leading_dense", kNumber},
    {"expert_weights_norm",              kBool, "norm_topk_prob"},
    {"expert_shared_count",              kU32, "num_shared_experts", kNumberUnlessZero},
    {"expert_shared_feed_forward_length", kU32, "num_shared_experts*intermediate_size",
     kNumberUnlessZero},
    {"nextn_predict_layers",             kU32, "", kNextnLayers},
    {"rope.dimension_count",             kU32, "head_dim", kNumber},
    {"rope.scaling.type",                kText, "none", kConstant},
};
// clang-format on

Result<uint64_t> leading_dense(const Fields& fields) {
  const JsonValue& types = list_in(fields.config(), "mlp_layer_types");
  if (types.empty()) return fields.count_or_zero("first_k_dense_replace");
  return static_cast<uint64_t>(std::ranges::find(types, "sparse") - types.begin());
}
Result<uint64_t> dense_width(const Fields& fields) {
  const bool has_own = fields.declared("prefix_dense_intermediate_size") != nullptr;
  return fields.count(has_own ? "prefix_dense_intermediate_size" : "intermediate_size");
}

constexpr ClassDefault kCohere2MoeDefaults[] = {
    {"norm_topk_prob", "0", kInKeys},
    {"layer_norm_eps", "1e-5", kInShapes},
    {.field = "leading_dense", .value = "", .read_by = kInShapes, .compute = leading_dense},
    {.field = "dense_width", .value = "", .read_by = kInShapes, .compute = dense_width},
    {"vocab_size", "256000", kInShapes},
    {"hidden_size", "8192", kInShapes},
    {"intermediate_size", "22528", kInShapes},
    {"num_hidden_layers", "40", kInShapes},
    {"num_attention_heads", "64", kInShapes},
    {"num_key_value_heads", "num_attention_heads", kInShapes},
    {"head_dim", "hidden_size/num_attention_heads", kInShapes},
    {"num_experts", "8", kInShapes},
    {"moe_intermediate_size", "intermediate_size", kInShapes},
    {"tie_word_embeddings", "1", kInShapes},
    {"decoder_sparse_step", "1", kInShapes},
    {"num_shared_experts", "0", kInShapes},
};

bool adds_shared_experts(const JsonValue& config) {
  return whole(known(config, "num_shared_experts")).value_or(0) > 0 &&
         text_in(config, "shared_expert_combination_strategy") == "sum";
}
constexpr FamilyVariant kCohere2MoeVariants[] = {
    {adds_shared_experts, nullptr, "a model whose shared experts are added, not averaged,"}};

}  // namespace

const Family kCohere2Moe = {
    .name = "cohere2moe",
    .architectures = "Cohere2MoeForCausalLM",
    .model_types = "cohere2_moe",
    .traits = {.text = {.set = {kMlpBesideAttention, kListsMlpTypes}}},
    .names = {kCohere2MoeNames, rows::kExpertNames, rows::kOneNormNames},
    .keys = kCohere2MoeKeys,
    .keys_around = {.own_spellings = "num_experts expert_selection_fn"},
    .defaults = kCohere2MoeDefaults,
    .parameters = {kCohere2MoeLayer, rows::kAttention, rows::kExpertProjections},
    .forms = {.variants = kCohere2MoeVariants},
    .drafts = {.nextn = NextnLayers::kKept},
    .graph = {.constants = {{.field = "prefix_dense_intermediate_size",
                             .value = "null",
                             .overridable = true}}},
};

}  // namespace ckpt
