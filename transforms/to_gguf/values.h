// Values and shapes of tensors, changed as the rules of a family say.
#pragma once

#include <vector>

#include "transforms/to_gguf/model.h"

namespace ckpt {

// One tensor's values and shape as its rule says; names and types are the caller's.
Result<std::vector<Tensor>> change_values(Tensor tensor, Change change, const Model& model,
                                          Codecs codecs);

}  // namespace ckpt
