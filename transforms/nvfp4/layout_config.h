// What documents say of NVFP4 weights, in the words of ModelOpt and of compressed-tensors.
#pragma once

#include <string>
#include <vector>

#include "core/model/transform.h"

namespace ckpt {

// What a checkpoint says of its NVFP4 weights in either layout.
struct Nvfp4Modules {
  std::vector<std::string> quantized;
  std::vector<std::string> fp8;     // FP8 with a scale a tensor
  std::vector<std::string> linear;  // unquantized matrices that are no embeddings
  std::vector<std::string> others;  // all unquantized weights of two axes and more
  bool has_input_scales = false;
  bool has_fp8_input_scales = false;
  bool has_fp8_cache = false;
};

// Both documents in ModelOpt's words, or config.json in those of compressed-tensors; what the other
// wrote is removed. Fails: kCorrupt for documents that are no JSON.
Status write_modelopt_layout(Checkpoint& checkpoint, const Nvfp4Modules& modules);

Status write_compressed_layout(Checkpoint& checkpoint, const Nvfp4Modules& modules);

// True when the configuration, of either kind, says that the KV cache is FP8. Fails: kUnsupported
// when it says what changes values: rotations, sparsity, reordered columns, another cache.
Result<bool> check_configuration(const Checkpoint& checkpoint);

}  // namespace ckpt
