// MiMo V2 Flash: heads of values are smaller than those of keys, layers with windows have more
// heads of keys, and sinks. Three layers for multi-token prediction follow the last.
//
// Sources: llama.cpp conversion/mimo.py (MimoV2Model), which fills in no defaults of the class;
// modeling_mimo_v2_flash.py, which is published with the models.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kMimoLayer = spread([] { return std::to_array<ParameterRule>({
    {".self_attn.q_proj.weight", "num_attention_heads*head_dim hidden_size", kRows},
    {".self_attn.o_proj.weight", "hidden_size num_attention_heads*v_head_dim", kColumns},
    {".self_attn.k_proj.weight", "num_key_value_heads*head_dim hidden_size", kRows,
     "full_attention"},
    {".self_attn.v_proj.weight", "num_key_value_heads*v_head_dim hidden_size", kRows,
     "full_attention"},
    {".self_attn.attention_sink_bias", "num_attention_heads", kRows,
     "full_attention add_full_attention_sink_bias"},
    {".self_attn.k_proj.weight", "swa_num_key_value_heads*head_dim hidden_size", kRows,
     "sliding_attention"},
    {".self_attn.v_proj.weight", "swa_num_key_value_heads*v_head_dim hidden_size", kRows,
     "sliding_attention"},
    {".self_attn.attention_sink_bias", "num_attention_heads", kRows,
     "sliding_attention add_swa_attention_sink_bias"},
    {".{pre_mlp,final}_layernorm.weight", "hidden_size", kWhole, "nextn"},
}); });
constexpr ParameterRule kMimoFrame[] = {
    {"model.embed_tokens.weight", "vocab_size hidden_size"},
    {"model.norm.weight",         "hidden_size"},
    {"lm_head.weight",            "vocab_size hidden_size", kWhole, "head"},
    {".input_layernorm.weight",   "hidden_size"},
    {".post_attention_layernorm.weight", "hidden_size", kWhole, "trunk"},
};
constexpr rows::Rules kMimoNextn = std::span(rows::kNextn).first(3);
constexpr auto kMimoNames = spread([] { return std::to_array<NameRule>({
    {"model.layers.{}.self_attn.attention_sink_bias", "blk.{}.attn_sinks.weight"},
    {"model.layers.{}.{pre_mlp,final}_layernorm", "blk.{}.{ffn,layer_output}_norm"},
}); });
constexpr KeyRule kMimoKeys[] = {
    {"attention.head_count_kv",  kArray, "num_key_value_heads swa_num_key_value_heads",
     kCountsOfKinds},
    {"attention.sliding_window",         kU32, "sliding_window", kNumber},
    {"attention.sliding_window_pattern", kI32, "hybrid_layer_pattern", kSlidingPattern},
    {"attention.value_length",           kU32, "v_head_dim", kNumber},
    {"expert_count",                     kU32, "n_routed_experts", kNumber},
    {"expert_feed_forward_length",       kU32, "moe_intermediate_size", kNumber},
    {"rope.dimension_count",             kU32, "full_attention", kRotaryOfKind},
    {"attention.layer_norm_rms_epsilon", kF32, "layernorm_epsilon"},
    {"attention.value_scale",            kF32, "attention_value_scale"},
    {"nextn_predict_layers",             kU32, "num_nextn_predict_layers", kNumber},
};
constexpr ClassDefault kMimoDefaults[] = {
    {"layernorm_epsilon", "1e-5", kInKeys}, {"num_nextn_predict_layers", "3"}, rows::kAllSparse,
    {"vocab_size", "152576", kInShapes}, {"hidden_size", "4096", kInShapes},
    {"intermediate_size", "16384", kInShapes}, {"num_hidden_layers", "48", kInShapes},
    {"num_attention_heads", "64", kInShapes}, {"num_key_value_heads", "4", kInShapes},
    {"swa_num_key_value_heads", "8", kInShapes}, {"head_dim", "192", kInShapes},
    {"v_head_dim", "128", kInShapes}, {"n_routed_experts", "256", kInShapes},
    {"moe_intermediate_size", "2048", kInShapes},
};
// clang-format on

// llama.cpp's converter stops without these fields.
bool has_other_heads(const JsonValue& config) {
  for (const auto& [wide, sliding] :
       {std::pair("head_dim", "swa_head_dim"), std::pair("v_head_dim", "swa_v_head_dim"),
        std::pair("num_attention_heads", "swa_num_attention_heads")}) {
    const JsonValue *a = known(config, wide), *b = known(config, sliding);
    if (a == nullptr || b == nullptr || *a != *b) return true;
  }
  return text_in(config, "topk_method") != "noaux_tc";
}
void add_mimo_fields(const GraphConfig& made) {
  JsonValue& config = made.config;
  for (const char* field : {"head_dim", "v_head_dim", "num_attention_heads"}) {
    if (const JsonValue* value = known(config, field)) {
      config[fmt::format("swa_{}", field)] = *value;
    }
  }
  if (const JsonValue* base = known(config, "rope_local_base_freq")) {
    config["swa_rope_theta"] = *base;
    config.erase("rope_local_base_freq");
  }
  JsonValue sparse = JsonValue::array();
  for (const JsonValue& type : list_in(config, "mlp_layer_types")) {
    sparse.push_back(type == "sparse" ? 1 : 0);
  }
  config["moe_layer_freq"] = std::move(sparse);
  config.erase("mlp_layer_types");
}
constexpr FamilyVariant kMimoVariants[] = {
    {has_other_heads, nullptr, "a MiMo V2 model whose heads have other sizes where attention has "
                               "windows, or whose topk_method is not noaux_tc"}};

}  // namespace

const Family kMimo2 = {
    .name = "mimo2",
    .architectures = "MiMoV2FlashForCausalLM",
    .model_types = "mimo_v2_flash",
    .traits = {.text = {.set = {kListsMlpTypes, kNoauxRouter},
                        .told_fields = {{"add_swa_attention_sink_bias", "attn_sinks.weight"}}}},
    .names = {kMimoNames, rows::kNextnNames, rows::kRoutedExpertNames, rows::kGateFirstExpertNames,
              rows::kExpertNames, rows::kCommonNames},
    .keys = kMimoKeys,
    .keys_around = {.own_spellings = "intermediate_size n_routed_experts scoring_func"},
    .defaults = kMimoDefaults,
    .parameters = {kMimoFrame, kMimoLayer, rows::kMlp, std::span(rows::kRoutedExperts).first(7),
                   kMimoNextn},
    .forms = {.variants = kMimoVariants},
    .drafts = {.are_outside = true,
               .are_behind = true,
               .layers = "mtp.layers.",
               .nextn = NextnLayers::kKept},
    .graph = {.constants = {{"add_full_attention_sink_bias", "false"}, {"norm_topk_prob", "true"}},
              .add_fields = add_mimo_fields},
};

}  // namespace ckpt
