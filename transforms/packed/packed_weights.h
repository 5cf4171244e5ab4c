// Weights stored as codes that no codec reads: AWQ, GPTQ, packed INT4, bitsandbytes, stacks of
// experts.
//
//   AWQ, GPTQ           P.qweight I32, P.qzeros I32, P.scales F16, P.g_idx I32
//   pack-quantized      P.weight_packed I32, P.weight_scale BF16, P.weight_shape
//   stacks of MXFP4     P_blocks U8 [E, N, K/32, 16], P_scales U8 [E, N, K/32]
//   stacks of NVFP4     P U8 [E, K/2, N], P_weight_scale F8_E4M3, P_weight_scale_2 F32
//   bitsandbytes        P.weight U8 or I8, P.weight.absmax, P.weight.quant_map, P.SCB
//
// A step that changes values or the declaration of quantization would leave such a weight with
// wrong scales, or without a reader. Copying it is safe.
//
// Scales are ordinary float tensors, so only codes identify such a weight. An integer table alone
// is not enough, because routers and position ids may be integers too.
// Sources: casper-hansen/AutoAWQ awq/modules/linear/gemm.py; ModelCloud/GPTQModel
// gptqmodel/utils/model.py; compressed-tensors compressors/pack_quantized/base.py; NVIDIA
// Model-Optimizer modelopt/torch/export/unified_export_hf.py; bitsandbytes nn/modules.py.
#pragma once

#include "core/model/checkpoint.h"
#include "transforms/facts/quant_config.h"

namespace ckpt {

// The factor per column by which ModelOpt's AWQ divides the stored weight.
inline constexpr std::string_view kColumnScale = ".pre_quant_scale";
// Endings of tensors that servers need for quantized weights, but not for floats.
inline constexpr std::string_view kCompanions[] = {
    ".input_scale",       ".input_global_scale", ".output_scale",      ".k_scale",
    ".v_scale",           ".q_scale",            ".kv_scale",          ".k_zero_point",
    ".v_zero_point",      ".q_zero_point",       ".k_bias_value",      ".v_bias_value",
    ".activation_scale",  ".qscale_act",         ".input_scale_ub",    ".input_zero_point",
    ".output_zero_point", ".prob_output_scale",  ".weight_format",     kColumnScale};

// Whether `tensor` is a grid of integers or small floats, like codes without a codec.
bool may_be_codes(const Tensor& tensor);

// Whether it is the matrix of a module, as a quantizer would select it.
bool is_matrix_of_module(const Tensor& tensor);
// All such modules, and all modules with codes; `added` is empty.
UnquantizedModules modules_by_storage(const Checkpoint& checkpoint);

// The first tensor in the safetensors files that belongs to such a weight, codes before scales;
// nullptr if every weight can be read. Fails: kCorrupt: a document is not JSON.
Result<const Tensor*> find_unread_weight(const Checkpoint& checkpoint);

// Fails: kUnsupported if MLX quantized some weights.
Status refuse_mlx_codes(const Checkpoint& checkpoint);

// Fails: kUnsupported, naming that tensor and its declaration, or an unknown companion of a decoded
// weight; kCorrupt.
Status check_weights_are_read(const Checkpoint& checkpoint);

}  // namespace ckpt
