// Declarations of NVFP4 weights in documents of ModelOpt and of compressed-tensors.
#pragma once

#include <string>
#include <vector>

#include "core/model/transform.h"

namespace ckpt {

// A checkpoint's declaration of its NVFP4 weights in either layout.
struct Nvfp4Modules {
  std::vector<std::string> quantized;
  std::vector<std::string> fp8;     // FP8 with one scale per tensor
  std::vector<std::string> linear;  // unquantized matrices other than embeddings
  std::vector<std::string> others;  // all unquantized weights with two or more axes
  bool has_input_scales = false;
  bool has_fp8_input_scales = false;
  bool has_fp8_cache = false;
};

// Writes both documents for ModelOpt, or config.json for compressed-tensors, and removes the
// declarations of the other layout. Fails: kCorrupt: a document is not JSON.
Status write_modelopt_layout(Checkpoint& checkpoint, const Nvfp4Modules& modules);

Status write_compressed_layout(Checkpoint& checkpoint, const Nvfp4Modules& modules);

// Returns whether the configuration, of either layout, declares an FP8 KV cache. Fails:
// kUnsupported if it declares something that changes values: rotations, sparsity, reordered
// columns, another cache.
Result<bool> check_configuration(const Checkpoint& checkpoint);

// Moves NVFP4 weights between the two layouts of safetensors checkpoints: bits stay, and only the
// scale of each tensor becomes its reciprocal.
//
//   ModelOpt                          compressed-tensors
//   P.weight                          P.weight_packed             the same bytes
//   P.weight_scale                    P.weight_scale              the same bytes
//   P.weight_scale_2     F32 [] t     P.weight_global_scale  F32 [1] g = 1 / t
//   P.input_scale        F32 []       P.input_global_scale   F32 [1]
//   A.k_proj.k_scale     F32 []       A.k_scale              F32 [1]  FP8 cache; v alike
//   hf_quant_config.json, config.json                        config.json
//
// FP8 layers in the same folder (ModelOpt's MIXED_PRECISION), only to compressed-tensors:
//   P.weight_scale, P.input_scale  F32 []     the same names    F32 [1]
//
// 1 / t is rarely a float, so values change by a factor of up to 1 + 2^-24, and converting back may
// not restore t: each tensor's change is noted.
// Sources: compressed-tensors src/compressed_tensors/compressors/nvfp4 and
// entrypoints/convert/converters/modelopt_nvfp4.py; NVIDIA Model-Optimizer
// modelopt/torch/export/quant_utils.py.

// Lists the modules of a checkpoint with ModelOpt's layout. Fails: kCorrupt if only some layers
// have an input scale, because servers cannot load such a model.
Result<Nvfp4Modules> find_modelopt_modules(const Checkpoint& checkpoint);

}  // namespace ckpt
