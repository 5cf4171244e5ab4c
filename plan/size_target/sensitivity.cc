#include "plan/size_target/sensitivity.h"

#include <algorithm>

#include "core/base/numbers.h"
#include "core/model/tensor_names.h"
#include "models/models.h"

namespace ckpt {
namespace {

// Measured as the KL divergence of the next token per unit of relative error, with Gaussian noise
// added to one tensor (bench/sensitivity.py), on three models of 2 to 3 million weights: a trained
// one (qwen35-micro) and two with random weights. Relative to ffn_up, the trained one has 11 for
// output, 4 for token_embd, 1.7 for attn_v and ffn_down, 1.2 for attn_output; the others have 2, 6
// to 18, 3 to 5, 1 and 3 to 5. The numbers below are in between, closer to the trained model. They
// order roles; a large model may differ by a factor of two (docs/TARGETS.md).
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
constexpr double kOtherFactor = 1;    // ffn_up and roles that were not measured
constexpr double kFirstFactor = 1.8;  // first layer relative to others

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

std::vector<std::string> gguf_names_of_layer(std::string_view module) {
  std::vector<std::string> out = gguf_names_of(module);
  if (!out.empty()) return out;
  constexpr std::string_view kLayers = "layers.";
  const size_t at = std::min(module.find(kLayers), module.size());
  const auto layer = number_after(module.substr(at), kLayers);
  const std::string block = layer ? fmt::format("blk.{}.", *layer) : "";
  return {fmt::format("{}{}.weight", block, last_word(module))};
}

double sensitivity_of_layer(std::string_view module) {
  double out = 0;  // a split module counts as its more sensitive part
  for (std::string name : gguf_names_of_layer(module)) {
    for (const std::string_view stack : {"_exps.", "_shexp."}) {
      const size_t at = name.find(stack);
      if (at != name.npos) name.erase(at, stack.size() - 1);
    }
    out = std::max(out, sensitivity_of(name, false));
  }
  return out;
}

}  // namespace ckpt
