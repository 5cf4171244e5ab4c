// Tensors of a GGUF: names, order, types.
#pragma once

#include <vector>

#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/select.h"

namespace ckpt {

// Fails: kUnsupported, naming them, for tensors no rule knows; kCorrupt for shapes that contradict
// config.json, experts that are missing, names that come twice.
Result<std::vector<Tensor>> make_gguf_tensors(std::vector<NamedTensor> tensors, const Model& model,
                                              Codecs codecs);

}  // namespace ckpt
