// The recipes that ModelOpt ships: which layers, what of them, and the cache. A row is all that one
// needs. What ModelOpt's say about how it goes through its data is left out, as no export depends
// on it.
//
// Source: NVIDIA Model-Optimizer 0.47 modelopt_recipes/{general,huggingface,models}.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/json/json_read.h"

namespace ckpt {

// Rules of quantizers as rows of a table.

// Fields of a rule other than the numbers.
enum class RuleMark : uint8_t {
  kNone,
  kCastCache,     // use_constant_amax
  kConstantAmax,  // constant_amax: 2688.0, an input_scale of 1.0
  kBlocks128,     // a scale for 128 x 128 values
  kAffine,        // a bias
  kRotate,        // rotated first
  kBatchNorm1d,   // the marks from here: of layers of this class alone
  kBatchNorm2d,
  kBatchNorm3d,
  kLeakyRelu,
  kEmbedding,
};

struct RuleRow {
  std::string_view glob;     // of quantizers' names
  std::string_view numbers;  // "nvfp4": a file of configs/numerics; empty: turned off
  RuleMark mark = RuleMark::kNone;
};
JsonValue rule_of(const RuleRow& row);
JsonValue rules_of(std::span<const RuleRow> rows);

// `name` as "nvfp4": a QuantizerAttributeConfig.
std::optional<JsonValue> number_form(std::string_view name);
// `name` as "kv_fp8": a list of rules.
std::optional<JsonValue> unit_rules(std::string_view name);

// Which layers a recipe names.
enum class LayerGroup : uint8_t { kAll, kAnyExperts, kMlps, kMlpAndOutput, kMlpAlone, kRules };

inline constexpr RuleRow kNoVision[] = {{"*visual*", ""}, {"*vision_tower*", ""}};

inline constexpr RuleRow kFp8Attention[] = {
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
inline constexpr RuleRow kFp8AttentionLast[] = {
    {"*linear_attn.in_proj_a*", ""},
    {"*linear_attn.in_proj_b*", ""},
    {"*visual*", ""},
    {"*vision_tower*", ""},
    {"*mtp*", ""},
    {"*lm_head*weight_quantizer", "nvfp4"},
};

inline constexpr RuleMark kIn128 = RuleMark::kBlocks128;
inline constexpr RuleRow kKimiK3[] = {
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

// A recipe that ModelOpt ships.
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

inline constexpr std::string_view kQwen35Folder = "huggingface/qwen3_5/ptq";
inline constexpr std::string_view kKimiFolder = "models/moonshotai/Kimi-K3/ptq";
inline constexpr std::string_view kQwen35Attention = "w4a16_nvfp4-fp8_attn-kv_fp8_cast";

inline constexpr RecipeRow kRecipes[] = {
    {"fp8_default-kv_fp8", "max", LayerGroup::kAll, "fp8", "fp8", "kv_fp8"},
    {"fp8_default-kv_fp8_cast", "max", LayerGroup::kAll, "fp8", "fp8", "kv_fp8_cast"},
    {"int4_blockwise_weight_only", "max", LayerGroup::kAll, "int4_per_block", "", ""},
    {"mxfp4_mlp_weight_only", "", LayerGroup::kMlpAlone, "mxfp4", "", ""},
    {"nvfp4_act_headroom-kv_fp8_cast", "nvfp4_act_headroom", LayerGroup::kAll, "nvfp4", "nvfp4",
     "kv_fp8_cast"},
    {"nvfp4_default-kv_fp8", "max", LayerGroup::kAll, "nvfp4", "nvfp4", "kv_fp8"},
    {"nvfp4_default-kv_fp8_cast", "max", LayerGroup::kAll, "nvfp4", "nvfp4", "kv_fp8_cast"},
    {"nvfp4_default-kv_none-gptq", "gptq", LayerGroup::kAll, "nvfp4_static", "nvfp4", ""},
    {"nvfp4_default-kv_nvfp4_cast", "max", LayerGroup::kAll, "nvfp4", "nvfp4", "kv_nvfp4_cast"},
    {"nvfp4_experts_only-kv_fp8", "max", LayerGroup::kAnyExperts, "nvfp4", "nvfp4", "kv_fp8"},
    {"nvfp4_experts_only-kv_fp8_cast", "max", LayerGroup::kAnyExperts, "nvfp4", "nvfp4",
     "kv_fp8_cast"},
    {"nvfp4_experts_only-kv_fp8_layerwise", "max", LayerGroup::kAnyExperts, "nvfp4", "nvfp4",
     "kv_fp8"},
    {"nvfp4_experts_only-kv_fp8_layerwise_offload", "max", LayerGroup::kAnyExperts, "nvfp4",
     "nvfp4", "kv_fp8"},
    {"nvfp4_experts_only_input_scale1-kv_fp8_cast", "max", LayerGroup::kAnyExperts, "nvfp4",
     "nvfp4", "kv_fp8_cast", RuleMark::kConstantAmax},
    {"nvfp4_experts_only_mse-kv_fp8_cast", "mse", LayerGroup::kAnyExperts, "nvfp4_static", "nvfp4",
     "kv_fp8_cast"},
    {"nvfp4_mlp_only-kv_fp8", "max", LayerGroup::kMlps, "nvfp4", "nvfp4", "kv_fp8"},
    {"nvfp4_mlp_only-kv_fp8_cast", "max", LayerGroup::kMlps, "nvfp4", "nvfp4", "kv_fp8_cast"},
    {"nvfp4_mlp_only-novit-kv_fp8",
     "max",
     LayerGroup::kMlps,
     "nvfp4",
     "nvfp4",
     "kv_fp8",
     RuleMark::kNone,
     {},
     kNoVision},
    {"nvfp4_mlp_only_mse-kv_fp8_cast", "mse", LayerGroup::kMlps, "nvfp4_static", "nvfp4",
     "kv_fp8_cast"},
    {"nvfp4_mlp_weight_only", "max", LayerGroup::kMlpAlone, "nvfp4_bs32", "", ""},
    {"nvfp4_omlp_only-kv_fp8", "max", LayerGroup::kMlpAndOutput, "nvfp4", "nvfp4", "kv_fp8"},
    {"nvfp4_omlp_only-kv_fp8_cast", "max", LayerGroup::kMlpAndOutput, "nvfp4", "nvfp4",
     "kv_fp8_cast"},
    {"nvfp4_weight_only-kv_fp16", "max", LayerGroup::kAll, "nvfp4", "", ""},
    {"nvfp4_weight_only-kv_fp8_cast", "max", LayerGroup::kAll, "nvfp4", "", "kv_fp8_cast"},
    {kQwen35Attention, "max", LayerGroup::kRules, "", "", "kv_fp8_cast", RuleMark::kNone,
     kFp8Attention, kFp8AttentionLast, kQwen35Folder},
    {"nvfp4_experts-fp8_pb_attention",
     "max",
     LayerGroup::kRules,
     "",
     "",
     "",
     RuleMark::kNone,
     kKimiK3,
     {},
     kKimiFolder},
};

}  // namespace ckpt
