// Shapes of tensors, against config.json.
#pragma once

#include <vector>

#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/select.h"

namespace ckpt {

// Fails: kCorrupt, naming the first and counting them: tensors whose shapes contradict config.json.
Status check_shapes(const std::vector<NamedTensor>& tensors, const Model& model);

}  // namespace ckpt
