// What ModelOpt's recipes import, without their comments and descriptions.
//
// Source: NVIDIA Model-Optimizer 0.47 modelopt_recipes (Apache-2.0).
#include "transforms/modelopt_export/recipe_library.h"

namespace ckpt {
namespace {

// clang-format off
constexpr LibraryFile kLibraryUnits[] = {
    {"configs/ptq/units/attention_qkv_fp8",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {fp8: configs/numerics/fp8}}
---
[{quantizer_name: '*[qkv]_bmm_quantizer', cfg: {$import: fp8}},
 {quantizer_name: '*softmax_quantizer', cfg: {$import: fp8}},
 {quantizer_name: '*p_bmm_quantizer', cfg: {$import: fp8}}]
)"},
    {"configs/ptq/units/base_disable_all",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgEntry
{quantizer_name: '*', enable: false}
)"},
    {"configs/ptq/units/block_sparse_moe_nvfp4",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {nvfp4: configs/numerics/nvfp4}}
---
[{quantizer_name: '*block_sparse_moe*weight_quantizer', cfg: {$import: nvfp4}}, {
 quantizer_name: '*block_sparse_moe*input_quantizer', cfg: {$import: nvfp4}}]
)"},
    {"configs/ptq/units/default_disabled_quantizers",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
[{quantizer_name: '*block_sparse_moe.gate*', enable: false}, {
 quantizer_name: '*linear_attn.conv1d*', enable: false}, {
 quantizer_name: '*self_attention.conv1d*', enable: false},
 {quantizer_name: '*linear_attn.in_proj_a*', enable: false},
 {quantizer_name: '*linear_attn.in_proj_b*', enable: false},
 {quantizer_name: '*lm_head*', enable: false}, {quantizer_name: '*mixer.conv1d*',
 enable: false}, {quantizer_name: '*mlp.gate.*', enable: false},
 {quantizer_name: '*mlp.shared_expert_gate.*', enable: false},
 {quantizer_name: '*output_layer*', enable: false}, {quantizer_name: '*proj_out.*',
 enable: false}, {quantizer_name: '*router*', enable: false},
 {quantizer_name: mtp.*, enable: false}, {quantizer_name: output.*,
 enable: false}, {quantizer_name: '*embed_vision*', enable: false},
 {quantizer_name: '*vision_tower*', enable: false}, {quantizer_name: '*visual*',
 enable: false}, {quantizer_name: '*vision_model*', enable: false},
 {quantizer_name: '*multi_modal_projector*', enable: false},
 {parent_class: nn.BatchNorm1d, quantizer_name: '*', enable: false},
 {parent_class: nn.BatchNorm2d, quantizer_name: '*', enable: false},
 {parent_class: nn.BatchNorm3d, quantizer_name: '*', enable: false},
 {parent_class: nn.LeakyReLU, quantizer_name: '*', enable: false},
 {parent_class: nn.Embedding, quantizer_name: '*', enable: false}]
)"},
    {"configs/ptq/units/experts_nvfp4",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {nvfp4: configs/numerics/nvfp4}}
---
[{quantizer_name: '*.experts.*weight_quantizer', cfg: {$import: nvfp4}},
 {quantizer_name: '*.experts.*input_quantizer', cfg: {$import: nvfp4}}]
)"},
    {"configs/ptq/units/kv_fp8",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {fp8: configs/numerics/fp8}}
---
[{quantizer_name: '*[kv]_bmm_quantizer', cfg: {$import: fp8}}]
)"},
    {"configs/ptq/units/kv_fp8_affine",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {kv_fp8: configs/ptq/units/kv_fp8, fp8: configs/numerics/fp8}}
---
[{$import: kv_fp8}, {quantizer_name: '*[kv]_bmm_quantizer', cfg: {$import: fp8, bias: {-2: null,
 -4: null, type: static}}}]
)"},
    {"configs/ptq/units/kv_fp8_cast",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {fp8: configs/numerics/fp8}}
---
[{quantizer_name: '*[kv]_bmm_quantizer', cfg: {$import: fp8, use_constant_amax: true}}]
)"},
    {"configs/ptq/units/kv_nvfp4",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {nvfp4: configs/numerics/nvfp4}}
---
[{quantizer_name: '*[kv]_bmm_quantizer', cfg: {$import: nvfp4}}]
)"},
    {"configs/ptq/units/kv_nvfp4_affine",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {kv_nvfp4: configs/ptq/units/kv_nvfp4, nvfp4: configs/numerics/nvfp4}}
---
[{$import: kv_nvfp4}, {quantizer_name: '*[kv]_bmm_quantizer', cfg: {$import: nvfp4, bias: {
 -2: null, -4: null, type: static}}}]
)"},
    {"configs/ptq/units/kv_nvfp4_cast",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {nvfp4: configs/numerics/nvfp4}}
---
[{quantizer_name: '*[kv]_bmm_quantizer', cfg: {$import: nvfp4, use_constant_amax: true}}]
)"},
    {"configs/ptq/units/kv_nvfp4_rotate",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {nvfp4: configs/numerics/nvfp4}}
---
[{quantizer_name: '*q_bmm_quantizer', cfg: {rotate: true}, enable: false},
 {quantizer_name: '*k_bmm_quantizer', cfg: {$import: nvfp4, rotate: true}},
 {quantizer_name: '*v_bmm_quantizer', cfg: {$import: nvfp4}}]
)"},
    {"configs/ptq/units/mamba_moe_disabled_quantizers",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
[{quantizer_name: '*fc1_latent_proj*', enable: false}, {quantizer_name: '*fc2_latent_proj*',
 enable: false}, {quantizer_name: '*q_proj*', enable: false}, {quantizer_name: '*k_proj*',
 enable: false}, {quantizer_name: '*v_proj*', enable: false}, {quantizer_name: '*o_proj*',
 enable: false}, {quantizer_name: '*self_attention.linear_qkv*', enable: false},
 {quantizer_name: '*self_attention.linear_proj*', enable: false}]
)"},
    {"configs/ptq/units/mixer_mlp_nvfp4",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {nvfp4: configs/numerics/nvfp4}}
---
[{quantizer_name: '*.mixer.up_proj.weight_quantizer', cfg: {$import: nvfp4}},
 {quantizer_name: '*.mixer.up_proj.input_quantizer', cfg: {$import: nvfp4}},
 {quantizer_name: '*.mixer.down_proj.weight_quantizer', cfg: {$import: nvfp4}},
 {quantizer_name: '*.mixer.down_proj.input_quantizer', cfg: {$import: nvfp4}}]
)"},
    {"configs/ptq/units/w4_nvfp4",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {nvfp4: configs/numerics/nvfp4}}
---
[{quantizer_name: '*weight_quantizer', cfg: {$import: nvfp4}}]
)"},
    {"configs/ptq/units/w4a4_nvfp4_nvfp4",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {nvfp4: configs/numerics/nvfp4}}
---
[{quantizer_name: '*weight_quantizer', cfg: {$import: nvfp4}},
 {quantizer_name: '*input_quantizer', cfg: {$import: nvfp4}}]
)"},
    {"configs/ptq/units/w4a4_nvfp4_nvfp4_four_over_six",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {nvfp4: configs/numerics/nvfp4, four_over_six: configs/numerics/nvfp4_four_over_six}}
---
[{quantizer_name: '*weight_quantizer', cfg: {$import: four_over_six}}, {
 quantizer_name: '*input_quantizer', cfg: {$import: nvfp4}}]
)"},
    {"configs/ptq/units/w8a8_fp8_fp8",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig
{imports: {fp8: configs/numerics/fp8}}
---
[{quantizer_name: '*weight_quantizer', cfg: {$import: fp8}}, {quantizer_name: '*input_quantizer',
 cfg: {$import: fp8}}]
)"},
    {"configs/numerics/fp8",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: e4m3, axis: null}
)"},
    {"configs/numerics/int4_per_block",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: 4, block_sizes: {-1: 128, type: static}}
)"},
    {"configs/numerics/int8",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: 8, axis: null}
)"},
    {"configs/numerics/int8_per_channel",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: 8, axis: 0}
)"},
    {"configs/numerics/mxfp4",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: e2m1, block_sizes: {-1: 32, type: dynamic, scale_bits: e8m0}}
)"},
    {"configs/numerics/mxfp6",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: e3m2, block_sizes: {-1: 32, type: dynamic, scale_bits: e8m0}}
)"},
    {"configs/numerics/mxfp8",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: e4m3, block_sizes: {-1: 32, type: dynamic, scale_bits: e8m0}}
)"},
    {"configs/numerics/mxint8",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: 8, block_sizes: {-1: 32, type: dynamic, scale_bits: e8m0}}
)"},
    {"configs/numerics/nvfp4",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: e2m1, block_sizes: {-1: 16, type: dynamic, scale_bits: e4m3}, effective_bits: 4.5}
)"},
    {"configs/numerics/nvfp4_bs32",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: e2m1, block_sizes: {-1: 32, type: dynamic, scale_bits: e4m3}}
)"},
    {"configs/numerics/nvfp4_four_over_six",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: e2m1, block_sizes: {-1: 16, type: static, scale_bits: e4m3, four_over_six: true}}
)"},
    {"configs/numerics/nvfp4_static",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig
{num_bits: e2m1, block_sizes: {-1: 16, type: static, scale_bits: e4m3}}
)"},
    {"configs/ptq/presets/model/mxfp4_mlp_weight_only",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizeConfig
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 mxfp4: configs/numerics/mxfp4}, algorithm: null,
 quant_cfg: [{$import: base}, {quantizer_name: '*mlp*weight_quantizer',
 cfg: {$import: mxfp4}}, {quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: mxfp4}}, {$import: disabled}]}
)"},
    {"configs/ptq/presets/model/nvfp4_mlp_weight_only",
     R"(# modelopt-schema: modelopt.torch.quantization.config.QuantizeConfig
{imports: {base: configs/ptq/units/base_disable_all,
 disabled: configs/ptq/units/default_disabled_quantizers,
 nvfp4_bs32: configs/numerics/nvfp4_bs32}, algorithm: max,
 quant_cfg: [{$import: base}, {quantizer_name: '*mlp*weight_quantizer',
 cfg: {$import: nvfp4_bs32}}, {quantizer_name: '*block_sparse_moe*weight_quantizer',
 cfg: {$import: nvfp4_bs32}}, {$import: disabled}]}
)"},
};
// clang-format on

}  // namespace

std::span<const LibraryFile> library_units() { return kLibraryUnits; }

}  // namespace ckpt
