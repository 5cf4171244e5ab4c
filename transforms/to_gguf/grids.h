// Matrices that a family stores turned around.
#pragma once

#include <vector>

#include "transforms/to_gguf/model.h"

namespace ckpt {

// The changes that turn matrices around; others are change_values' own. `f32` is the codec of
// values that had to be decoded for it.
Result<std::vector<Tensor>> change_grid(const Tensor& given, Change change, const Model& model,
                                        const Codec& f32);

}  // namespace ckpt
