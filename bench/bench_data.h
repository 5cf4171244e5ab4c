// Weights to time with: the BF16 tensors of a checkpoint, or normal numbers rounded to BF16.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"

namespace ckpt {

// The values of the file's BF16 matrices one after the other, cut or repeated to `count`.
// kIo: cannot be read; kCorrupt: not a safetensors file; kUnsupported: no BF16 matrix in it.
Result<std::vector<float>> weights_of(const std::string& safetensors_path, size_t count);

// Normally distributed, standard deviation 0.02, always the same numbers.
std::vector<float> normal_weights(size_t count);

}  // namespace ckpt
