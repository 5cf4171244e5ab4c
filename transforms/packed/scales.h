// Codes of 8 bits with separate scales; private to transforms/packed/.
#pragma once

#include <string>
#include <vector>

#include "core/computed/coded_matrix.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// A matrix, and the declared layout of its scales.
struct ScaledShape {
  uint64_t rows, columns;
  uint64_t group = 0;                // values of a row that share a scale; 0: not said
  std::vector<uint64_t> block = {};  // rows and columns of a tile; empty: not said
};

// E4M3 or E5M2, in two axes.
bool is_fp8_grid(const Tensor& tensor);
// For the tiles that `shape` says; where it says none, for the tensor, each row or groups of a row
// by the shape of `scale`. Fails: kCorrupt: of another shape or type.
Result<ScaleGrid> scales_of(const Tensor& scale, const ScaledShape& shape);
// "group 32", "channel", "blocks of 128 x 128", "tensor".
std::string describe(const ScaleGrid& scales);
// code x scale. Requires: I8 or is_fp8_grid. Fails: as scales_of.
Result<CodedMatrix> scaled_codes(const Tensor& codes, const Tensor& scale,
                                 const ScaledShape& shape);

}  // namespace ckpt
