// Sources: llama.cpp src/models (the graphs), transformers configuration_*.py (what a class fills
// in where config.json is silent).
#include "transforms/from_gguf/graph_constants.h"

#include <algorithm>

namespace ckpt {
namespace {

struct Constant {
  std::string_view family, field, json;
};
constexpr Constant kConstants[] = {
    {"qwen3moe", "norm_topk_prob", "true"},
    {"qwen3moe", "decoder_sparse_step", "1"},
    {"qwen3moe", "mlp_only_layers", "[]"},
    {"qwen3vlmoe", "norm_topk_prob", "true"},
    {"qwen3vlmoe", "decoder_sparse_step", "1"},
    {"qwen3vlmoe", "mlp_only_layers", "[]"},
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
    {"lfm2moe", "norm_topk_prob", "true"},
    {"smollm3", "no_rope_layer_interval", "4"},
    {"gemma", "hidden_activation", "\"gelu_pytorch_tanh\""},
    {"gemma2", "hidden_activation", "\"gelu_pytorch_tanh\""},
    {"gemma3", "hidden_activation", "\"gelu_pytorch_tanh\""},
    {"gemma4", "hidden_activation", "\"gelu_pytorch_tanh\""},
    {"gpt-oss", "swiglu_limit", "7.0"},
    {"deepseek2", "num_nextn_predict_layers", "0"},
    {"deepseek2", "rope_interleave", "true"},
    {"llama4", "attention_chunk_size", "8192"},
    {"llama4", "no_rope_layer_interval", "4"},
    {"llama4", "attn_temperature_tuning", "true"},
    {"llama4", "floor_scale", "8192"},
    {"llama4", "attn_scale", "0.1"},
    {"granite", "position_embedding_type", "\"rope\""},
    {"granitemoe", "position_embedding_type", "\"rope\""},
    {"granitehybrid", "position_embedding_type", "\"nope\""},
    {"olmoe", "norm_topk_prob", "false"},
    {"nemotron_h", "mlp_hidden_act", "\"relu2\""},
    {"nemotron_h", "mamba_hidden_act", "\"silu\""},
};

struct Spelling {
  std::string_view family, field;
};
constexpr Spelling kSpellings[] = {
    {"gemma4", "num_experts"},           {"gemma4", "top_k_experts"},
    {"gemma4", "moe_intermediate_size"}, {"deepseek2", "scoring_func"},
    {"glm-dsa", "scoring_func"},         {"nemotron_h", "layer_norm_epsilon"},
};

constexpr Spelling kUntold[] = {
    {"cohere2", "layer_types (full attention in each fourth)"},
    {"phi2", "rope_theta (10000)"},
    {"stablelm", "rope_theta (10000)"},
    {"starcoder2", "sliding_window (none)"},
    {"lfm2moe", "routed_scaling_factor (1, as llama.cpp computes such files)"},
    {"gpt-oss", "layer_types (sliding and full attention in turn), rope truncate (false)"},
    {"gemma3", "layer_types (full attention in each sixth)"},
    {"deepseek2", "mscale (as mscale_all_dim)"},
    {"mistral3", "mscale (1, as llama.cpp computes such files)"},
    {"llama4",
     "attention_chunk_size (8192), no_rope_layers (each fourth), use_qk_norm (but with "
     "128 experts)"},
    {"granite", "position_embedding_type (rope, as llama.cpp computes such files)"},
    {"granitemoe", "position_embedding_type (rope, as llama.cpp computes such files)"},
    {"granitehybrid",
     "max_position_embeddings (such files say 1048576, whatever the model was "
     "trained for)"},
    {"nemotron_h",
     "max_position_embeddings (such files say 1048576, whatever the model was "
     "trained for), time_step_limit"},
};

uint64_t count_in(const JsonValue& config, std::string_view field) {
  const JsonValue* found = known(config, field);
  return found == nullptr ? 0 : whole(*found).value_or(0);
}

// gemma{2,3}.cpp: by the size of a head, but in the models of 27 billion, which are known by their
// layers.
void add_query_scale(const Family& family, uint64_t layers, JsonValue& config) {
  if (family.name != "gemma2" && family.name != "gemma3") return;
  const auto count = [&](const char* field) { return count_in(config, field); };
  const bool is_27b = layers == (family.name == "gemma2" ? 46 : 62);
  const uint64_t heads = count("num_attention_heads");
  const uint64_t scale = !is_27b      ? count("head_dim")
                         : heads == 0 ? 0
                                      : count("hidden_size") / heads;
  if (scale > 0) config["query_pre_attn_scalar"] = scale;
}

// openai-moe.cpp: a window in each layer of an even number.
void add_of_gpt_oss(uint64_t layers, JsonValue& config, JsonValue& rope) {
  JsonValue types = JsonValue::array();
  for (uint64_t layer = 0; layer < layers; ++layer) {
    types.push_back(layer % 2 == 0 ? "sliding_attention" : "full_attention");
  }
  config["layer_types"] = std::move(types);
  if (rope.contains("rope_type")) rope["truncate"] = false;
}

// One key-value head in the file is as many as there are heads.
void add_of_latent_attention(JsonValue& config, JsonValue& rope) {
  if (config.contains("num_attention_heads")) {
    config["num_key_value_heads"] = config["num_attention_heads"];
  }
  if (rope.contains("mscale_all_dim")) rope["mscale"] = rope["mscale_all_dim"];
}

void add_of_mamba(JsonValue& config) {
  const uint64_t heads = count_in(config, "mamba_n_heads");
  const uint64_t inner = count_in(config, "mamba_expand") * count_in(config, "hidden_size");
  if (heads > 0 && inner % heads == 0) config["mamba_d_head"] = inner / heads;
}

}  // namespace

bool is_spelled_so(const Family& family, std::string_view word) {
  return std::any_of(std::begin(kSpellings), std::end(kSpellings), [&](const Spelling& spelling) {
    return spelling.family == family.name && spelling.field == word;
  });
}

std::string_view untold_fields(const Family& family) {
  for (const Spelling& untold : kUntold) {
    if (untold.family == family.name) return untold.field;
  }
  return {};
}

Status add_graph_constants(const Family& family, uint64_t layers, JsonValue& config,
                           JsonValue& rope) {
  for (const Constant& constant : kConstants) {
    const std::string field(constant.field);
    const bool is_said = field == "num_nextn_predict_layers" && config.contains(field);
    if (constant.family != family.name || is_said) continue;
    CKPT_ASSIGN(config[field], parse_json("config.json", constant.json));
  }
  add_query_scale(family, layers, config);
  if (family.name == "gpt-oss") add_of_gpt_oss(layers, config, rope);
  if (family.name == "deepseek2" || family.name == "glm-dsa") {
    add_of_latent_attention(config, rope);
  }
  // llama-context.cpp: the graph divides by what mscale_all_dim says, and takes 1 for mscale.
  if (family.name == "mistral3" && rope.contains("mscale_all_dim")) rope["mscale"] = 1.0;
  if (family.name == "llama4") {  // llama.cpp knows the larger of both models by its experts
    config["use_qk_norm"] = count_in(config, "num_local_experts") != 128;
  }
  if (family.is("granitemoehybrid")) add_of_mamba(config);
  return {};
}

}  // namespace ckpt
