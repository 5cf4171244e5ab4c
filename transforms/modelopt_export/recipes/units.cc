// The numbers and groups of rules that ModelOpt's recipes import.
//
// Source: NVIDIA Model-Optimizer 0.47 modelopt_recipes/configs/{numerics,ptq/units}.
#include <string>

#include "transforms/modelopt_export/recipes/rows.h"

namespace ckpt {
namespace {

struct NumberRow {
  std::string_view name, num_bits;
  std::string_view block;  // values that share a scale; empty: no blocks
  std::string_view type, scale_bits;
  std::string_view key = {}, value = {};  // one more, of the whole or of block_sizes
};
constexpr NumberRow kNumberRows[] = {
    {"fp8", "e4m3", "", "", ""},
    {"int4_per_block", "4", "128", "static", ""},
    {"int8", "8", "", "", ""},
    {"int8_per_channel", "8", "", "", "", "axis", "0"},
    {"mxfp4", "e2m1", "32", "dynamic", "e8m0"},
    {"mxfp6", "e3m2", "32", "dynamic", "e8m0"},
    {"mxfp8", "e4m3", "32", "dynamic", "e8m0"},
    {"mxint8", "8", "32", "dynamic", "e8m0"},
    {"nvfp4", "e2m1", "16", "dynamic", "e4m3"},
    {"nvfp4_bs32", "e2m1", "32", "dynamic", "e4m3"},
    {"nvfp4_four_over_six", "e2m1", "16", "static", "e4m3", "four_over_six", "true"},
    {"nvfp4_static", "e2m1", "16", "static", "e4m3"},
};

struct UnitRow {
  std::string_view unit;
  RuleRow rule;
};
constexpr std::string_view kOffByDefault = "default_disabled_quantizers";
constexpr std::string_view kMamba = "mamba_moe_disabled_quantizers";
constexpr UnitRow kUnitRows[] = {
    {"attention_qkv_fp8", {"*[qkv]_bmm_quantizer", "fp8"}},
    {"attention_qkv_fp8", {"*softmax_quantizer", "fp8"}},
    {"attention_qkv_fp8", {"*p_bmm_quantizer", "fp8"}},
    {"block_sparse_moe_nvfp4", {"*block_sparse_moe*weight_quantizer", "nvfp4"}},
    {"block_sparse_moe_nvfp4", {"*block_sparse_moe*input_quantizer", "nvfp4"}},
    {kOffByDefault, {"*block_sparse_moe.gate*", ""}},
    {kOffByDefault, {"*linear_attn.conv1d*", ""}},
    {kOffByDefault, {"*self_attention.conv1d*", ""}},
    {kOffByDefault, {"*linear_attn.in_proj_a*", ""}},
    {kOffByDefault, {"*linear_attn.in_proj_b*", ""}},
    {kOffByDefault, {"*lm_head*", ""}},
    {kOffByDefault, {"*mixer.conv1d*", ""}},
    {kOffByDefault, {"*mlp.gate.*", ""}},
    {kOffByDefault, {"*mlp.shared_expert_gate.*", ""}},
    {kOffByDefault, {"*output_layer*", ""}},
    {kOffByDefault, {"*proj_out.*", ""}},
    {kOffByDefault, {"*router*", ""}},
    {kOffByDefault, {"mtp.*", ""}},
    {kOffByDefault, {"output.*", ""}},
    {kOffByDefault, {"*embed_vision*", ""}},
    {kOffByDefault, {"*vision_tower*", ""}},
    {kOffByDefault, {"*visual*", ""}},
    {kOffByDefault, {"*vision_model*", ""}},
    {kOffByDefault, {"*multi_modal_projector*", ""}},
    {kOffByDefault, {"*", "", RuleMark::kBatchNorm1d}},
    {kOffByDefault, {"*", "", RuleMark::kBatchNorm2d}},
    {kOffByDefault, {"*", "", RuleMark::kBatchNorm3d}},
    {kOffByDefault, {"*", "", RuleMark::kLeakyRelu}},
    {kOffByDefault, {"*", "", RuleMark::kEmbedding}},
    {"experts_nvfp4", {"*.experts.*weight_quantizer", "nvfp4"}},
    {"experts_nvfp4", {"*.experts.*input_quantizer", "nvfp4"}},
    {"kv_fp8", {"*[kv]_bmm_quantizer", "fp8"}},
    {"kv_fp8_affine", {"*[kv]_bmm_quantizer", "fp8"}},
    {"kv_fp8_affine", {"*[kv]_bmm_quantizer", "fp8", RuleMark::kAffine}},
    {"kv_fp8_cast", {"*[kv]_bmm_quantizer", "fp8", RuleMark::kCastCache}},
    {"kv_nvfp4", {"*[kv]_bmm_quantizer", "nvfp4"}},
    {"kv_nvfp4_affine", {"*[kv]_bmm_quantizer", "nvfp4"}},
    {"kv_nvfp4_affine", {"*[kv]_bmm_quantizer", "nvfp4", RuleMark::kAffine}},
    {"kv_nvfp4_cast", {"*[kv]_bmm_quantizer", "nvfp4", RuleMark::kCastCache}},
    {"kv_nvfp4_rotate", {"*q_bmm_quantizer", "", RuleMark::kRotate}},
    {"kv_nvfp4_rotate", {"*k_bmm_quantizer", "nvfp4", RuleMark::kRotate}},
    {"kv_nvfp4_rotate", {"*v_bmm_quantizer", "nvfp4"}},
    {kMamba, {"*fc1_latent_proj*", ""}},
    {kMamba, {"*fc2_latent_proj*", ""}},
    {kMamba, {"*q_proj*", ""}},
    {kMamba, {"*k_proj*", ""}},
    {kMamba, {"*v_proj*", ""}},
    {kMamba, {"*o_proj*", ""}},
    {kMamba, {"*self_attention.linear_qkv*", ""}},
    {kMamba, {"*self_attention.linear_proj*", ""}},
    {"mixer_mlp_nvfp4", {"*.mixer.up_proj.weight_quantizer", "nvfp4"}},
    {"mixer_mlp_nvfp4", {"*.mixer.up_proj.input_quantizer", "nvfp4"}},
    {"mixer_mlp_nvfp4", {"*.mixer.down_proj.weight_quantizer", "nvfp4"}},
    {"mixer_mlp_nvfp4", {"*.mixer.down_proj.input_quantizer", "nvfp4"}},
    {"w4_nvfp4", {"*weight_quantizer", "nvfp4"}},
    {"w4a4_nvfp4_nvfp4", {"*weight_quantizer", "nvfp4"}},
    {"w4a4_nvfp4_nvfp4", {"*input_quantizer", "nvfp4"}},
    {"w4a4_nvfp4_nvfp4_four_over_six", {"*weight_quantizer", "nvfp4_four_over_six"}},
    {"w4a4_nvfp4_nvfp4_four_over_six", {"*input_quantizer", "nvfp4"}},
    {"w8a8_fp8_fp8", {"*weight_quantizer", "fp8"}},
    {"w8a8_fp8_fp8", {"*input_quantizer", "fp8"}},
};

JsonValue attributes_of(const NumberRow& row) {
  JsonValue out = {{"num_bits", row.num_bits}};
  if (!row.block.empty()) {
    JsonValue& blocks = out["block_sizes"];
    blocks["-1"] = row.block;
    blocks["type"] = row.type;
    if (!row.scale_bits.empty()) blocks["scale_bits"] = row.scale_bits;
  }
  if (!row.key.empty()) (row.block.empty() ? out : out["block_sizes"])[row.key] = row.value;
  return out;
}

// The class of layers that a mark means; empty: all.
std::string_view class_of(RuleMark mark) {
  switch (mark) {
    case RuleMark::kBatchNorm1d:
      return "nn.BatchNorm1d";
    case RuleMark::kBatchNorm2d:
      return "nn.BatchNorm2d";
    case RuleMark::kBatchNorm3d:
      return "nn.BatchNorm3d";
    case RuleMark::kLeakyRelu:
      return "nn.LeakyReLU";
    case RuleMark::kEmbedding:
      return "nn.Embedding";
    default:
      return {};
  }
}

void put_mark(RuleMark mark, JsonValue& cfg) {
  if (mark == RuleMark::kCastCache) cfg["use_constant_amax"] = "true";
  if (mark == RuleMark::kConstantAmax) cfg["constant_amax"] = "2688.0";
  if (mark == RuleMark::kRotate) cfg["rotate"] = "true";
  if (mark == RuleMark::kBlocks128) cfg["block_sizes"] = {{"-1", "128"}, {"-2", "128"}};
  if (mark == RuleMark::kAffine) {
    cfg["bias"] = {{"-2", nullptr}, {"-4", nullptr}, {"type", "static"}};
  }
}

}  // namespace

std::optional<JsonValue> number_form(std::string_view name) {
  for (const NumberRow& row : kNumberRows) {
    if (row.name == name) return attributes_of(row);
  }
  return std::nullopt;
}

JsonValue rule_of(const RuleRow& row) {
  JsonValue out = {{"quantizer_name", row.glob}};
  const std::string_view parent = class_of(row.mark);
  if (!parent.empty()) out["parent_class"] = parent;
  const bool is_on = !row.numbers.empty();
  JsonValue cfg = number_form(row.numbers).value_or(JsonValue::object());
  put_mark(row.mark, cfg);
  if (!cfg.empty()) out["cfg"] = std::move(cfg);
  if (!is_on) out["enable"] = "false";
  return out;
}

JsonValue rules_of(std::span<const RuleRow> rows) {
  JsonValue out = JsonValue::array();
  for (const RuleRow& row : rows) out.push_back(rule_of(row));
  return out;
}

std::optional<JsonValue> unit_rules(std::string_view name) {
  JsonValue out = JsonValue::array();
  for (const UnitRow& row : kUnitRows) {
    if (row.unit == name) out.push_back(rule_of(row.rule));
  }
  if (out.empty()) return std::nullopt;
  return out;
}

}  // namespace ckpt
