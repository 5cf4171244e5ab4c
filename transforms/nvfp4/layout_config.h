// Declarations of NVFP4 weights in documents, in the words of ModelOpt and of compressed-tensors.
#pragma once

#include <string>
#include <vector>

#include "core/model/transform.h"

namespace ckpt {

// A checkpoint's declaration of its NVFP4 weights in either layout.
struct Nvfp4Modules {
  std::vector<std::string> quantized;
  std::vector<std::string> fp8;     // FP8 with a scale a tensor
  std::vector<std::string> linear;  // unquantized matrices other than embeddings
  std::vector<std::string> others;  // all unquantized weights of two axes and more
  bool has_input_scales = false;
  bool has_fp8_input_scales = false;
  bool has_fp8_cache = false;
};

// Both documents in ModelOpt's words, or config.json in those of compressed-tensors; what the other
// wrote is removed. Fails: kCorrupt for documents that are not JSON.
Status write_modelopt_layout(Checkpoint& checkpoint, const Nvfp4Modules& modules);

Status write_compressed_layout(Checkpoint& checkpoint, const Nvfp4Modules& modules);

// True when the configuration, of either kind, says that the KV cache is FP8. Fails: kUnsupported
// when it says what changes values: rotations, sparsity, reordered columns, another cache.
Result<bool> check_configuration(const Checkpoint& checkpoint);

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
// FP8 layers with them (ModelOpt's MIXED_PRECISION), to compressed-tensors' mixed-precision only:
//   P.weight_scale, P.input_scale  F32 []     the same names    F32 [1]
//
// 1 / t is seldom a float, so values change by up to 2^-24 of themselves, and going back does not
// always give t again: each tensor's change is noted.
// Sources: compressed-tensors src/compressed_tensors/compressors/nvfp4 and
// entrypoints/convert/converters/modelopt_nvfp4.py; NVIDIA Model-Optimizer
// modelopt/torch/export/quant_utils.py.

// Of a checkpoint whose NVFP4 weights lie as ModelOpt's. Fails: kCorrupt when some layers have an
// input scale and others none: servers know no such model.
Result<Nvfp4Modules> find_modelopt_modules(const Checkpoint& checkpoint);

}  // namespace ckpt
