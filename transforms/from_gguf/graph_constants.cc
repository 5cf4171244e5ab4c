// Sources: llama.cpp src/models (the graphs), transformers configuration_*.py (what a class fills
// in where config.json is silent).
#include "transforms/from_gguf/graph_constants.h"

namespace ckpt {
namespace {

struct Constant {
  std::string_view family, field, json;
};
constexpr Constant kConstants[] = {
    {"qwen3moe", "norm_topk_prob", "true"},
    {"qwen3moe", "decoder_sparse_step", "1"},
    {"qwen3moe", "mlp_only_layers", "[]"},
    {"qwen2moe", "norm_topk_prob", "false"},
    {"qwen2moe", "decoder_sparse_step", "1"},
    {"qwen2moe", "mlp_only_layers", "[]"},
    {"qwen3next", "norm_topk_prob", "true"},
    {"qwen3next", "decoder_sparse_step", "1"},
    {"qwen3next", "mlp_only_layers", "[]"},
    {"minimax-m2", "scoring_func", "\"sigmoid\""},
    {"minimax-m2", "use_routing_bias", "true"},
    {"minimax-m2", "use_qk_norm", "true"},
    {"minimax-m2", "qk_norm_type", "\"per_layer\""},
    {"lfm2", "block_auto_adjust_ff_dim", "false"},
    {"smollm3", "no_rope_layer_interval", "4"},
    {"gemma", "hidden_activation", "\"gelu_pytorch_tanh\""},
    {"gemma2", "hidden_activation", "\"gelu_pytorch_tanh\""},
    {"gemma3", "hidden_activation", "\"gelu_pytorch_tanh\""},
};

// gemma{2,3}.cpp: by the size of a head, but in the models of 27 billion, which are known by their
// layers.
void add_query_scale(const Family& family, uint64_t layers, JsonValue& config) {
  if (family.name != "gemma2" && family.name != "gemma3") return;
  const auto count = [&](const char* field) {
    const JsonValue* found = known(config, field);
    return found == nullptr ? 0 : whole(*found).value_or(0);
  };
  const bool is_27b = layers == (family.name == "gemma2" ? 46 : 62);
  const uint64_t heads = count("num_attention_heads");
  const uint64_t scale = !is_27b      ? count("head_dim")
                         : heads == 0 ? 0
                                      : count("hidden_size") / heads;
  if (scale > 0) config["query_pre_attn_scalar"] = scale;
}

}  // namespace

Status add_graph_constants(const Family& family, uint64_t layers, JsonValue& config) {
  for (const Constant& constant : kConstants) {
    if (constant.family != family.name) continue;
    CKPT_ASSIGN(config[std::string(constant.field)], parse_json("config.json", constant.json));
  }
  add_query_scale(family, layers, config);
  return {};
}

}  // namespace ckpt
