#include "plan/size_target/sensitivity.h"

#include <fmt/format.h>

#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

// Measured as the KL divergence of the next token, a unit of relative error, when Gaussian noise is
// added to one tensor (bench/sensitivity.py), on three models of 2 to 3 million weights: one that
// was trained (qwen35-micro) and two of random weights. Over ffn_up the trained one has 11 for
// output, 4 for token_embd, 1.7 for attn_v and ffn_down, 1.2 for attn_output; the others 2, 6 to
// 18, 3 to 5, 1 and 3 to 5. Numbers below lie between, nearer to the trained one's. They order
// roles; a large model's own may well be others by a factor of two (docs/TARGETS.md).
struct RoleFactor {
  std::string_view role;
  double factor;
};
constexpr RoleFactor kRoleFactors[] = {
    {"output", 8},          {"token_embd", 4},  {"per_layer_token_embd", 1}, {"attn_v", 2.2},
    {"attn_v_b", 2.2},      {"attn_kv_b", 2.2}, {"attn_kv_a_mqa", 2.2},      {"attn_qkv", 1.4},
    {"attn_k", 1.3},        {"attn_q", 1},      {"attn_output", 1.8},        {"attn_gate", 0.6},
    {"ssm_out", 1.6},       {"ffn_down", 1.6},  {"ffn_down_exps", 1.6},      {"ffn_gate", 1.2},
    {"ffn_gate_exps", 1.2}, {"ssm_alpha", 0.1}, {"ssm_beta", 0.1},
};
constexpr double kOtherFactor = 1;    // ffn_up, and what nobody has measured
constexpr double kFirstFactor = 1.8;  // of the first layer, over the others

// The role of a layer in GGUF, by the last word of its name in a folder, one of these.
struct LayerRole {
  std::string_view words, role;
};
constexpr LayerRole kLayerRoles[] = {
    {"q_proj", "attn_q"},         {"k_proj", "attn_k"},
    {"v_proj", "attn_v"},         {"o_proj dense", "attn_output"},
    {"out_proj", "ssm_out"},      {"qkv_proj in_proj_qkv query_key_value in_proj_qkvz", "attn_qkv"},
    {"in_proj_z", "attn_gate"},   {"kv_b_proj", "attn_kv_b"},
    {"gate_proj w1", "ffn_gate"}, {"kv_a_proj_with_mqa", "attn_kv_a_mqa"},
    {"up_proj w3", "ffn_up"},     {"down_proj w2 fc2 dense_4h_to_h", "ffn_down"},
    {"lm_head", "output"},
};

std::string_view role_of_layer(std::string_view module) {
  const std::string_view word = last_word(module);
  for (const LayerRole& each : kLayerRoles) {
    if (has_word(each.words, word)) return each.role;
  }
  return word;
}

std::string gguf_name(std::string_view module, std::string_view role) {
  constexpr std::string_view kLayers = "layers.";
  const size_t at = module.find(kLayers);
  if (at == module.npos) return fmt::format("{}.weight", role);
  const uint64_t layer = number_after(module.substr(at), kLayers).value_or(0);
  return fmt::format("blk.{}.{}.weight", layer, role);
}

}  // namespace

std::string role_of(std::string_view tensor) {
  if (tensor.starts_with("blk.")) {
    const size_t dot = tensor.find('.', 4);
    if (dot != tensor.npos) tensor = tensor.substr(dot + 1);
  }
  if (tensor.ends_with(".weight")) tensor.remove_suffix(7);
  return std::string(tensor);
}

double sensitivity_of(std::string_view tensor, bool is_tied) {
  std::string role = role_of(tensor);
  if (is_tied && role == "token_embd") role = "output";
  double factor = kOtherFactor;
  for (const RoleFactor& each : kRoleFactors) {
    if (each.role == role) factor = each.factor;
  }
  return number_after(tensor, "blk.") == 0u ? factor * kFirstFactor : factor;
}

double sensitivity_of_layer(std::string_view module) {
  return sensitivity_of(gguf_name(module, role_of_layer(module)), false);
}

std::string gguf_name_of_layer(std::string_view module) {
  const bool is_shared = module.find("shared_expert") != module.npos;
  return gguf_name(module, fmt::format("{}{}", role_of_layer(module),
                                       is_shared              ? "_shexp"
                                       : is_of_expert(module) ? "_exps"
                                                              : ""));
}

}  // namespace ckpt
