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

// `tensor` to be stored as `target`. Values pass through it even when a later step stores them in a
// third type: that is what converting first and quantizing the file would have done.
Result<Tensor> encode_as(Tensor tensor, const Codec& target);

}  // namespace ckpt
