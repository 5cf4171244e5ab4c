// Moves NVFP4 weights between the two layouts of safetensors checkpoints; bits stay what they are,
// only the scale of each tensor becomes its reciprocal.
//
//   ModelOpt                          compressed-tensors
//   P.weight                          P.weight_packed             the same bytes
//   P.weight_scale                    P.weight_scale              the same bytes
//   P.weight_scale_2     F32 [] t     P.weight_global_scale  F32 [1] g = 1 / t
//   P.input_scale        F32 []       P.input_global_scale   F32 [1]
//   A.k_proj.k_scale     F32 []       A.k_scale              F32 [1]  FP8 cache; v alike
//   hf_quant_config.json, config.json                        config.json
//
// FP8 layers beside them (ModelOpt's MIXED_PRECISION), to compressed-tensors' mixed-precision only:
//   P.weight_scale, P.input_scale  F32 []     the same names    F32 [1]
//
// 1 / t is seldom a float, so values change by up to 2^-24 of themselves, and going back does not
// always give t again: each tensor's change is noted.
// Sources: compressed-tensors src/compressed_tensors/compressors/nvfp4 and
// entrypoints/convert/converters/modelopt_nvfp4.py; NVIDIA Model-Optimizer
// modelopt/torch/export/quant_utils.py.
#pragma once

#include "transforms/nvfp4/layout_config.h"

namespace ckpt {

// Of a checkpoint whose NVFP4 weights lie as ModelOpt's. Fails: kCorrupt when some layers have an
// input scale and others none: servers know no such model.
Result<Nvfp4Modules> find_modelopt_modules(const Checkpoint& checkpoint);

}  // namespace ckpt
