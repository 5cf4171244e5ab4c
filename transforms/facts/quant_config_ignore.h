// Declares modules as not quantized in the configurations that a checkpoint has.
//
//   hf_quant_config.json   quantization.exclude_modules     globs
//   config.json            quantization_config.ignore       globs; of compressed-tensors whole
//   names
//
// Both documents keep their layout. With MIXED_PRECISION a module that quantized_layers does not
// name is not quantized anyway, and exclude_modules may be absent.
#pragma once

#include <string>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// Adds `modules` where no entry covers them yet, as the shortest globs that cover none of
// `quantized`. Does nothing to a checkpoint without a quantization configuration. Fails: kCorrupt.
Status declare_unquantized(Checkpoint& checkpoint, const std::vector<std::string>& modules,
                           const std::vector<std::string>& quantized);

}  // namespace ckpt
