// Weights to time with: the BF16 tensors of a checkpoint, or normal numbers rounded to BF16.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

// The values of the file's BF16 matrices one after the other, cut or repeated to `count`.
// kIo: cannot be read; kCorrupt: not a safetensors file; kUnsupported: no BF16 matrix in it.
Result<std::vector<float>> weights_of(const std::string& safetensors_path, size_t count);

// Always the same numbers. Kinds:
//   "normal"     standard deviation 0.02, rounded to BF16; the others start from it
//   "zero"       all zeros
//   "one_inf"    one normal number in 4096 is Inf
//   "tiny"       one block of 256 in 16 is multiplied by 2^-125: ranges whose inverse overflows
//   "all_tiny"   all are multiplied by it
// kUsage: no such kind.
Result<std::vector<float>> made_weights(std::string_view kind, size_t count);

}  // namespace ckpt
