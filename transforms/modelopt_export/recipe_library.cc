// ModelOpt's own recipes, without their comments and descriptions.
//
// Source: NVIDIA Model-Optimizer 0.47 modelopt_recipes (Apache-2.0).
#include "transforms/modelopt_export/recipe_library.h"

namespace ckpt {
namespace {

// clang-format off
constexpr LibraryFile kLibraryRecipes[] = {
    {"general/ptq/fp8_default-kv_fp8",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 w8a8_fp8_fp8: configs/ptq/units/w8a8_fp8_fp8, kv_fp8: configs/ptq/units/kv_fp8},
 metadata: {recipe_type: ptq}, quantize: {algorithm: max,
 quant_cfg: [{$import: base}, {$import: w8a8_fp8_fp8},
 {$import: kv_fp8}, {$import: disabled}]}}
)"},
    {"general/ptq/fp8_default-kv_fp8_cast",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 w8a8_fp8_fp8: configs/ptq/units/w8a8_fp8_fp8, kv_fp8_cast: configs/ptq/units/kv_fp8_cast},
 metadata: {recipe_type: ptq}, quantize: {algorithm: max,
 quant_cfg: [{$import: base}, {$import: w8a8_fp8_fp8},
 {$import: kv_fp8_cast}, {$import: disabled}]}}
)"},
    {"general/ptq/int4_blockwise_weight_only",
     R"(
{metadata: {recipe_type: ptq}, imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers, int4: configs/numerics/int4_per_block},
 quantize: {algorithm: max, quant_cfg: [{$import: base}, {quantizer_name: '*weight_quantizer',
 cfg: {$import: int4}}, {quantizer_name: '*input_quantizer', enable: false},
 {$import: disabled}]}}
)"},
    {"general/ptq/mxfp4_mlp_weight_only",
     R"(
{imports: {preset: configs/ptq/presets/model/mxfp4_mlp_weight_only}, metadata: {recipe_type: ptq},
 quantize: {$import: preset}}
)"},
    {"general/ptq/nvfp4_act_headroom-kv_fp8_cast",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 w4a4: configs/ptq/units/w4a4_nvfp4_nvfp4, kv_fp8_cast: configs/ptq/units/kv_fp8_cast},
 metadata: {recipe_type: ptq}, quantize: {algorithm: {
 method: nvfp4_act_headroom, anchor_percentile: 1,
 upper_percentile: 99.99, rho: 16384, weight_scale_algorithm: {
 method: max}}, quant_cfg: [{$import: base},
 {$import: w4a4}, {$import: kv_fp8_cast}, {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_default-kv_fp8",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 w4a4: configs/ptq/units/w4a4_nvfp4_nvfp4, kv_fp8: configs/ptq/units/kv_fp8},
 metadata: {recipe_type: ptq}, quantize: {algorithm: max,
 quant_cfg: [{$import: base}, {$import: w4a4}, {
 $import: kv_fp8}, {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_default-kv_fp8_cast",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 w4a4: configs/ptq/units/w4a4_nvfp4_nvfp4, kv_fp8_cast: configs/ptq/units/kv_fp8_cast},
 metadata: {recipe_type: ptq}, quantize: {algorithm: max,
 quant_cfg: [{$import: base}, {$import: w4a4}, {
 $import: kv_fp8_cast}, {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_default-kv_none-gptq",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 nvfp4_static: configs/numerics/nvfp4_static, nvfp4: configs/numerics/nvfp4},
 metadata: {recipe_type: ptq}, quantize: {algorithm: {
 method: gptq, layerwise: {enable: true, checkpoint_dir: output/layerwise_ckpts/}},
 quant_cfg: [{$import: base}, {quantizer_name: '*weight_quantizer',
 cfg: {$import: nvfp4_static}}, {quantizer_name: '*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*[kv]_bmm_quantizer',
 enable: false}, {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_default-kv_nvfp4_cast",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 w4a4: configs/ptq/units/w4a4_nvfp4_nvfp4, kv_nvfp4_cast: configs/ptq/units/kv_nvfp4_cast},
 metadata: {recipe_type: ptq}, quantize: {algorithm: max,
 quant_cfg: [{$import: base}, {$import: w4a4}, {
 $import: kv_nvfp4_cast}, {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_experts_only-kv_fp8",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 nvfp4: configs/numerics/nvfp4, kv_fp8: configs/ptq/units/kv_fp8},
 metadata: {recipe_type: ptq}, quantize: {algorithm: {
 method: max, layerwise: {enable: false}}, quant_cfg: [
 {$import: base}, {quantizer_name: '*.experts.*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: kv_fp8}, {
 $import: disabled}]}}
)"},
    {"general/ptq/nvfp4_experts_only-kv_fp8_cast",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 nvfp4: configs/numerics/nvfp4, kv_fp8_cast: configs/ptq/units/kv_fp8_cast},
 metadata: {recipe_type: ptq}, quantize: {algorithm: {
 method: max, layerwise: {enable: false}}, quant_cfg: [
 {$import: base}, {quantizer_name: '*.experts.*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: kv_fp8_cast},
 {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_experts_only-kv_fp8_layerwise",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 nvfp4: configs/numerics/nvfp4, kv_fp8: configs/ptq/units/kv_fp8},
 metadata: {recipe_type: ptq}, quantize: {algorithm: {
 method: max, layerwise: {enable: true}}, quant_cfg: [
 {$import: base}, {quantizer_name: '*.experts.*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: kv_fp8}, {
 $import: disabled}]}}
)"},
    {"general/ptq/nvfp4_experts_only-kv_fp8_layerwise_offload",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 nvfp4: configs/numerics/nvfp4, kv_fp8: configs/ptq/units/kv_fp8},
 metadata: {recipe_type: ptq}, quantize: {algorithm: {
 method: max, layerwise: {enable: true, calib_mutates_weights: false}},
 quant_cfg: [{$import: base}, {quantizer_name: '*.experts.*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: kv_fp8}, {
 $import: disabled}]}}
)"},
    {"general/ptq/nvfp4_experts_only_input_scale1-kv_fp8_cast",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 nvfp4: configs/numerics/nvfp4, kv_fp8_cast: configs/ptq/units/kv_fp8_cast},
 metadata: {recipe_type: ptq}, quantize: {algorithm: {
 method: max, layerwise: {enable: false}, skip_forward_without_activation_calib: true},
 quant_cfg: [{$import: base}, {quantizer_name: '*.experts.*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*input_quantizer',
 cfg: {$import: nvfp4, constant_amax: 2688.0}},
 {quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4, constant_amax: 2688.0}},
 {$import: kv_fp8_cast}, {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_experts_only_mse-kv_fp8_cast",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 nvfp4: configs/numerics/nvfp4, nvfp4_static: configs/numerics/nvfp4_static,
 kv_fp8_cast: configs/ptq/units/kv_fp8_cast}, metadata: {
 recipe_type: ptq}, quantize: {algorithm: {method: mse,
 fp8_scale_sweep: true, layerwise: {enable: false}},
 quant_cfg: [{$import: base}, {quantizer_name: '*.experts.*weight_quantizer',
 cfg: {$import: nvfp4_static}}, {quantizer_name: '*.experts.*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4_static}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: kv_fp8_cast},
 {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_mlp_only-kv_fp8",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 mixer: configs/ptq/units/mixer_mlp_nvfp4, nvfp4: configs/numerics/nvfp4,
 kv_fp8: configs/ptq/units/kv_fp8}, metadata: {recipe_type: ptq},
 quantize: {algorithm: max, quant_cfg: [{$import: base},
 {quantizer_name: '*mlp*weight_quantizer', cfg: {
 $import: nvfp4}}, {quantizer_name: '*mlp*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: mixer}, {
 quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: kv_fp8}, {
 $import: disabled}]}}
)"},
    {"general/ptq/nvfp4_mlp_only-kv_fp8_cast",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 mixer: configs/ptq/units/mixer_mlp_nvfp4, nvfp4: configs/numerics/nvfp4,
 kv_fp8_cast: configs/ptq/units/kv_fp8_cast}, metadata: {
 recipe_type: ptq}, quantize: {algorithm: max, quant_cfg: [
 {$import: base}, {quantizer_name: '*mlp*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*mlp*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: mixer}, {
 quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: kv_fp8_cast},
 {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_mlp_only-novit-kv_fp8",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 mixer: configs/ptq/units/mixer_mlp_nvfp4, nvfp4: configs/numerics/nvfp4,
 kv_fp8: configs/ptq/units/kv_fp8}, metadata: {recipe_type: ptq},
 quantize: {algorithm: max, quant_cfg: [{$import: base},
 {quantizer_name: '*mlp*weight_quantizer', cfg: {
 $import: nvfp4}}, {quantizer_name: '*mlp*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: mixer}, {
 quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: kv_fp8}, {
 $import: disabled}, {quantizer_name: '*visual*',
 enable: false}, {quantizer_name: '*vision_tower*',
 enable: false}]}}
)"},
    {"general/ptq/nvfp4_mlp_only_mse-kv_fp8_cast",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 nvfp4: configs/numerics/nvfp4, nvfp4_static: configs/numerics/nvfp4_static,
 kv_fp8_cast: configs/ptq/units/kv_fp8_cast}, metadata: {
 recipe_type: ptq}, quantize: {algorithm: {method: mse,
 fp8_scale_sweep: true, layerwise: {enable: false}},
 quant_cfg: [{$import: base}, {quantizer_name: '*mlp*weight_quantizer',
 cfg: {$import: nvfp4_static}}, {quantizer_name: '*mlp*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.mixer.up_proj.weight_quantizer',
 cfg: {$import: nvfp4_static}}, {quantizer_name: '*.mixer.up_proj.input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.mixer.down_proj.weight_quantizer',
 cfg: {$import: nvfp4_static}}, {quantizer_name: '*.mixer.down_proj.input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4_static}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*.experts.*weight_quantizer',
 cfg: {$import: nvfp4_static}}, {quantizer_name: '*.experts.*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: kv_fp8_cast},
 {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_mlp_weight_only",
     R"(
{imports: {preset: configs/ptq/presets/model/nvfp4_mlp_weight_only}, metadata: {recipe_type: ptq},
 quantize: {$import: preset}}
)"},
    {"general/ptq/nvfp4_omlp_only-kv_fp8",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 mixer: configs/ptq/units/mixer_mlp_nvfp4, nvfp4: configs/numerics/nvfp4,
 kv_fp8: configs/ptq/units/kv_fp8}, metadata: {recipe_type: ptq},
 quantize: {algorithm: max, quant_cfg: [{$import: base},
 {quantizer_name: '*mlp*weight_quantizer', cfg: {
 $import: nvfp4}}, {quantizer_name: '*mlp*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: mixer}, {
 quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*o_proj*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*o_proj*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: kv_fp8}, {
 $import: disabled}]}}
)"},
    {"general/ptq/nvfp4_omlp_only-kv_fp8_cast",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 mixer: configs/ptq/units/mixer_mlp_nvfp4, nvfp4: configs/numerics/nvfp4,
 kv_fp8_cast: configs/ptq/units/kv_fp8_cast}, metadata: {
 recipe_type: ptq}, quantize: {algorithm: max, quant_cfg: [
 {$import: base}, {quantizer_name: '*mlp*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*mlp*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: mixer}, {
 quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe*input_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*o_proj*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*o_proj*input_quantizer',
 cfg: {$import: nvfp4}}, {$import: kv_fp8_cast},
 {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_weight_only-kv_fp16",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 w4a16_nvfp4: configs/ptq/units/w4_nvfp4}, metadata: {
 recipe_type: ptq}, quantize: {algorithm: max, quant_cfg: [
 {$import: base}, {$import: w4a16_nvfp4}, {$import: disabled}]}}
)"},
    {"general/ptq/nvfp4_weight_only-kv_fp8_cast",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 w4a16_nvfp4: configs/ptq/units/w4_nvfp4, kv_fp8_cast: configs/ptq/units/kv_fp8_cast},
 metadata: {recipe_type: ptq}, quantize: {algorithm: max,
 quant_cfg: [{$import: base}, {$import: w4a16_nvfp4},
 {$import: kv_fp8_cast}, {$import: disabled}]}}
)"},
    {"huggingface/qwen3_5/ptq/w4a16_nvfp4-fp8_attn-kv_fp8_cast.quant_cfg",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 fp8: configs/numerics/fp8, kv_fp8_cast: configs/ptq/units/kv_fp8_cast,
 nvfp4: configs/numerics/nvfp4}}
---
[{$import: base}, {quantizer_name: '*mlp*gate_proj*weight_quantizer*',
 cfg: {$import: nvfp4}}, {quantizer_name: '*mlp*up_proj*weight_quantizer*',
 cfg: {$import: nvfp4}}, {quantizer_name: '*mlp*down_proj*weight_quantizer*',
 cfg: {$import: nvfp4}}, {quantizer_name: '*self_attn*weight_quantizer',
 cfg: {$import: fp8}}, {quantizer_name: '*self_attn*input_quantizer',
 cfg: {$import: fp8}}, {quantizer_name: '*linear_attn.in_proj_qkv*weight_quantizer',
 cfg: {$import: fp8}}, {quantizer_name: '*linear_attn.in_proj_qkv*input_quantizer',
 cfg: {$import: fp8}}, {quantizer_name: '*linear_attn.in_proj_z*weight_quantizer',
 cfg: {$import: fp8}}, {quantizer_name: '*linear_attn.in_proj_z*input_quantizer',
 cfg: {$import: fp8}}, {quantizer_name: '*linear_attn.out_proj*weight_quantizer',
 cfg: {$import: fp8}}, {quantizer_name: '*linear_attn.out_proj*input_quantizer',
 cfg: {$import: fp8}}, {$import: kv_fp8_cast}, {$import: disabled},
 {quantizer_name: '*linear_attn.in_proj_a*', enable: false},
 {quantizer_name: '*linear_attn.in_proj_b*', enable: false},
 {quantizer_name: '*visual*', enable: false}, {quantizer_name: '*vision_tower*',
 enable: false}, {quantizer_name: '*mtp*', enable: false},
 {quantizer_name: '*lm_head*weight_quantizer', cfg: {$import: nvfp4}}]
)"},
    {"huggingface/qwen3_5/ptq/w4a16_nvfp4-fp8_attn-kv_fp8_cast",
     R"(
{imports: {shared: huggingface/qwen3_5/ptq/w4a16_nvfp4-fp8_attn-kv_fp8_cast.quant_cfg},
 metadata: {recipe_type: ptq}, quantize: {algorithm: {method: max, layerwise: {enable: false}},
 quant_cfg: [{$import: shared}]}}
)"},
    {"models/moonshotai/Kimi-K3/ptq/nvfp4_experts-fp8_pb_attention",
     R"(
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 fp8: configs/numerics/fp8, nvfp4: configs/numerics/nvfp4},
 metadata: {recipe_type: ptq}, quantize: {algorithm: {
 method: max, layerwise: {enable: false}, skip_forward_without_activation_calib: true},
 quant_cfg: [{$import: base}, {quantizer_name: '*block_sparse_moe.experts.*weight_quantizer',
 cfg: {$import: nvfp4}}, {quantizer_name: '*block_sparse_moe.experts.*input_quantizer',
 cfg: {$import: nvfp4, constant_amax: 2688.0}},
 {quantizer_name: '*self_attn.q_proj*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {quantizer_name: '*self_attn.k_proj*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {quantizer_name: '*self_attn.v_proj*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {quantizer_name: '*self_attn.b_proj*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {quantizer_name: '*self_attn.f_a_proj*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {quantizer_name: '*self_attn.f_b_proj*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {quantizer_name: '*self_attn.q_a_proj*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {quantizer_name: '*self_attn.q_b_proj*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {quantizer_name: '*self_attn.kv_a_proj_with_mqa*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {quantizer_name: '*self_attn.kv_b_proj*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {quantizer_name: '*self_attn.o_proj*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {quantizer_name: '*self_attn.g_proj*weight_quantizer',
 cfg: {$import: fp8, block_sizes: {-1: 128, -2: 128}}},
 {$import: disabled}]}}
)"},
};
// clang-format on

}  // namespace

std::span<const LibraryFile> library_recipes() { return kLibraryRecipes; }

}  // namespace ckpt
