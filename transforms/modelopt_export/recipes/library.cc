// Each recipe is a row: which layers, what of them, and the cache. What ModelOpt's recipes say
// about how it goes through its data is left out, as no export depends on it.
//
// Source: NVIDIA Model-Optimizer 0.47 modelopt_recipes/{general,huggingface,models}.
#include "transforms/modelopt_export/recipes/library.h"

#include <span>
#include <string>

#include "transforms/modelopt_export/recipes/units.h"

namespace ckpt {
namespace {

constexpr std::string_view kUnitFolder = "configs/ptq/units/";
constexpr std::string_view kNumberFolder = "configs/numerics/";
constexpr std::string_view kPresetFolder = "configs/ptq/presets/model/";

// Which layers a recipe names.
enum class LayerGroup : uint8_t { kAll, kAnyExperts, kMlps, kMlpAndOutput, kMlpAlone, kRules };

// Fronts of quantizers' names.
constexpr std::string_view kAllLayers[] = {"*"};
constexpr std::string_view kExpertLayers[] = {"*.experts.*", "*block_sparse_moe*"};
constexpr std::string_view kMlpLayers[] = {"*mlp*", "*.mixer.up_proj.", "*.mixer.down_proj.",
                                           "*block_sparse_moe*", "*.experts.*"};
constexpr std::string_view kMlpAndOutputLayers[] = {
    "*mlp*", "*.mixer.up_proj.", "*.mixer.down_proj.", "*block_sparse_moe*", "*o_proj*"};
constexpr std::string_view kMlpAloneLayers[] = {"*mlp*", "*block_sparse_moe*"};

constexpr RuleRow kNoVision[] = {{"*visual*", ""}, {"*vision_tower*", ""}};

constexpr RuleRow kFp8Attention[] = {
    {"*mlp*gate_proj*weight_quantizer*", "nvfp4"},
    {"*mlp*up_proj*weight_quantizer*", "nvfp4"},
    {"*mlp*down_proj*weight_quantizer*", "nvfp4"},
    {"*self_attn*weight_quantizer", "fp8"},
    {"*self_attn*input_quantizer", "fp8"},
    {"*linear_attn.in_proj_qkv*weight_quantizer", "fp8"},
    {"*linear_attn.in_proj_qkv*input_quantizer", "fp8"},
    {"*linear_attn.in_proj_z*weight_quantizer", "fp8"},
    {"*linear_attn.in_proj_z*input_quantizer", "fp8"},
    {"*linear_attn.out_proj*weight_quantizer", "fp8"},
    {"*linear_attn.out_proj*input_quantizer", "fp8"},
};
constexpr RuleRow kFp8AttentionLast[] = {
    {"*linear_attn.in_proj_a*", ""},
    {"*linear_attn.in_proj_b*", ""},
    {"*visual*", ""},
    {"*vision_tower*", ""},
    {"*mtp*", ""},
    {"*lm_head*weight_quantizer", "nvfp4"},
};

constexpr RuleMark kIn128 = RuleMark::kBlocks128;
constexpr RuleRow kKimiK3[] = {
    {"*block_sparse_moe.experts.*weight_quantizer", "nvfp4"},
    {"*block_sparse_moe.experts.*input_quantizer", "nvfp4", RuleMark::kConstantAmax},
    {"*self_attn.q_proj*weight_quantizer", "fp8", kIn128},
    {"*self_attn.k_proj*weight_quantizer", "fp8", kIn128},
    {"*self_attn.v_proj*weight_quantizer", "fp8", kIn128},
    {"*self_attn.b_proj*weight_quantizer", "fp8", kIn128},
    {"*self_attn.f_a_proj*weight_quantizer", "fp8", kIn128},
    {"*self_attn.f_b_proj*weight_quantizer", "fp8", kIn128},
    {"*self_attn.q_a_proj*weight_quantizer", "fp8", kIn128},
    {"*self_attn.q_b_proj*weight_quantizer", "fp8", kIn128},
    {"*self_attn.kv_a_proj_with_mqa*weight_quantizer", "fp8", kIn128},
    {"*self_attn.kv_b_proj*weight_quantizer", "fp8", kIn128},
    {"*self_attn.o_proj*weight_quantizer", "fp8", kIn128},
    {"*self_attn.g_proj*weight_quantizer", "fp8", kIn128},
};

struct RecipeRow {
  std::string_view name;
  std::string_view method;  // empty: none
  LayerGroup layers;
  std::string_view weights, inputs;  // numbers; empty: not quantized
  std::string_view cache;            // a unit; empty: not quantized
  RuleMark input_mark = RuleMark::kNone;
  std::span<const RuleRow> rules = {};  // of kRules, instead of a group
  std::span<const RuleRow> last = {};   // behind all
  std::string_view folder = "general/ptq";
};

constexpr std::string_view kQwen35Folder = "huggingface/qwen3_5/ptq";
constexpr std::string_view kKimiFolder = "models/moonshotai/Kimi-K3/ptq";
constexpr std::string_view kQwen35Attention = "w4a16_nvfp4-fp8_attn-kv_fp8_cast";
constexpr LayerGroup kAll = LayerGroup::kAll, kAnyExperts = LayerGroup::kAnyExperts,
                     kMlps = LayerGroup::kMlps, kMlpAndOutput = LayerGroup::kMlpAndOutput,
                     kMlpAlone = LayerGroup::kMlpAlone, kRules = LayerGroup::kRules;

// clang-format off
constexpr RecipeRow kRecipes[] = {
  {"fp8_default-kv_fp8",                      "max", kAll, "fp8", "fp8", "kv_fp8"},
  {"fp8_default-kv_fp8_cast",                 "max", kAll, "fp8", "fp8", "kv_fp8_cast"},
  {"int4_blockwise_weight_only",              "max", kAll, "int4_per_block", "", ""},
  {"mxfp4_mlp_weight_only",                   "", kMlpAlone, "mxfp4", "", ""},
  {"nvfp4_act_headroom-kv_fp8_cast",          "nvfp4_act_headroom", kAll, "nvfp4", "nvfp4",
                                              "kv_fp8_cast"},
  {"nvfp4_default-kv_fp8",                    "max", kAll, "nvfp4", "nvfp4", "kv_fp8"},
  {"nvfp4_default-kv_fp8_cast",               "max", kAll, "nvfp4", "nvfp4", "kv_fp8_cast"},
  {"nvfp4_default-kv_none-gptq",              "gptq", kAll, "nvfp4_static", "nvfp4", ""},
  {"nvfp4_default-kv_nvfp4_cast",             "max", kAll, "nvfp4", "nvfp4", "kv_nvfp4_cast"},
  {"nvfp4_experts_only-kv_fp8",               "max", kAnyExperts, "nvfp4", "nvfp4", "kv_fp8"},
  {"nvfp4_experts_only-kv_fp8_cast",          "max", kAnyExperts, "nvfp4", "nvfp4", "kv_fp8_cast"},
  {"nvfp4_experts_only-kv_fp8_layerwise",     "max", kAnyExperts, "nvfp4", "nvfp4", "kv_fp8"},
  {"nvfp4_experts_only-kv_fp8_layerwise_offload",
                                              "max", kAnyExperts, "nvfp4", "nvfp4", "kv_fp8"},
  {"nvfp4_experts_only_input_scale1-kv_fp8_cast",
                                              "max", kAnyExperts, "nvfp4", "nvfp4", "kv_fp8_cast",
                                              RuleMark::kConstantAmax},
  {"nvfp4_experts_only_mse-kv_fp8_cast",      "mse", kAnyExperts, "nvfp4_static", "nvfp4",
                                              "kv_fp8_cast"},
  {"nvfp4_mlp_only-kv_fp8",                   "max", kMlps, "nvfp4", "nvfp4", "kv_fp8"},
  {"nvfp4_mlp_only-kv_fp8_cast",              "max", kMlps, "nvfp4", "nvfp4", "kv_fp8_cast"},
  {"nvfp4_mlp_only-novit-kv_fp8",             "max", kMlps, "nvfp4", "nvfp4", "kv_fp8",
                                              RuleMark::kNone, {}, kNoVision},
  {"nvfp4_mlp_only_mse-kv_fp8_cast",          "mse", kMlps, "nvfp4_static", "nvfp4",
                                              "kv_fp8_cast"},
  {"nvfp4_mlp_weight_only",                   "max", kMlpAlone, "nvfp4_bs32", "", ""},
  {"nvfp4_omlp_only-kv_fp8",                  "max", kMlpAndOutput, "nvfp4", "nvfp4", "kv_fp8"},
  {"nvfp4_omlp_only-kv_fp8_cast",             "max", kMlpAndOutput, "nvfp4", "nvfp4",
                                              "kv_fp8_cast"},
  {"nvfp4_weight_only-kv_fp16",               "max", kAll, "nvfp4", "", ""},
  {"nvfp4_weight_only-kv_fp8_cast",           "max", kAll, "nvfp4", "", "kv_fp8_cast"},
  {kQwen35Attention,                          "max", kRules, "", "", "kv_fp8_cast",
                                              RuleMark::kNone, kFp8Attention, kFp8AttentionLast,
                                              kQwen35Folder},
  {"nvfp4_experts-fp8_pb_attention",          "max", kRules, "", "", "",
                                              RuleMark::kNone, kKimiK3, {}, kKimiFolder},
};
// clang-format on

std::span<const std::string_view> fronts_of(LayerGroup group) {
  switch (group) {
    case kAll:
      return kAllLayers;
    case kAnyExperts:
      return kExpertLayers;
    case kMlps:
      return kMlpLayers;
    case kMlpAndOutput:
      return kMlpAndOutputLayers;
    case kMlpAlone:
      return kMlpAloneLayers;
    case kRules:
      break;
  }
  return {};
}

void append(JsonValue& list, const JsonValue& more) {
  list.insert(list.end(), more.begin(), more.end());
}

// quant_cfg: all off, the layers, the cache, what is off by default, what comes last.
JsonValue quant_cfg_of(const RecipeRow& row) {
  JsonValue out = JsonValue::array({rule_of({"*", ""})});
  for (const std::string_view front : fronts_of(row.layers)) {
    const std::string weight = std::string(front) + "weight_quantizer";
    const std::string input = std::string(front) + "input_quantizer";
    out.push_back(rule_of({weight, row.weights}));
    if (!row.inputs.empty()) out.push_back(rule_of({input, row.inputs, row.input_mark}));
  }
  append(out, rules_of(row.rules));
  if (!row.cache.empty()) append(out, *unit_rules(row.cache));
  append(out, *unit_rules("default_disabled_quantizers"));
  append(out, rules_of(row.last));
  return out;
}

JsonValue quantize_of(const RecipeRow& row) {
  const JsonValue method = row.method.empty() ? JsonValue() : JsonValue(row.method);
  return {{"algorithm", method}, {"quant_cfg", quant_cfg_of(row)}};
}

bool take_front(std::string_view& path, std::string_view front) {
  if (!path.starts_with(front)) return false;
  path.remove_prefix(front.size());
  return true;
}

std::optional<Snippet> snippet_or_none(SnippetKind kind, std::optional<JsonValue> value) {
  if (!value) return std::nullopt;
  return Snippet{kind, std::move(*value)};
}

}  // namespace

std::optional<Snippet> library_snippet(std::string_view path) {
  if (path.ends_with(".yaml")) path.remove_suffix(5);
  if (path == "configs/ptq/units/base_disable_all") {
    return Snippet{SnippetKind::kEntry, rule_of({"*", ""})};
  }
  std::string_view name = path;
  if (take_front(name, kNumberFolder)) {
    return snippet_or_none(SnippetKind::kAttributes, number_form(name));
  }
  if (take_front(name, kUnitFolder)) {
    return snippet_or_none(SnippetKind::kEntries, unit_rules(name));
  }
  const bool is_preset = take_front(name, kPresetFolder);
  for (const RecipeRow& row : kRecipes) {
    if (is_preset && row.layers == kMlpAlone && row.name == name) {
      return Snippet{SnippetKind::kQuantConfig, quantize_of(row)};
    }
    const std::string whole = std::string(row.folder) + "/" + std::string(row.name);
    if (path == whole) return Snippet{SnippetKind::kNone, {}};
    if (row.layers == kRules && path == whole + ".quant_cfg" && row.name == kQwen35Attention) {
      return Snippet{SnippetKind::kEntries, quant_cfg_of(row)};
    }
  }
  return std::nullopt;
}

std::optional<JsonValue> library_recipe(std::string_view name) {
  for (const RecipeRow& row : kRecipes) {
    if (row.name != name) continue;
    return JsonValue{{"metadata", {{"recipe_type", "ptq"}}}, {"quantize", quantize_of(row)}};
  }
  return std::nullopt;
}

}  // namespace ckpt
