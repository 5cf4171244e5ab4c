// NVFP4 weights of a GGUF in the folder that it was made from; all other tensors are the folder's.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// A ModelOpt folder. `base`: the folder, unquantized. Fails: kUsage: a folder of another model;
// kUnsupported: rows with several scales.
Result<Checkpoint> nvfp4_into_base(const Checkpoint& file, Checkpoint base, const Context& context);

// The same without a base: `skeleton` has the headers and documents that the file's keys give,
// `others` its tensors with the file's values, of which those that are not NVFP4 are taken.
Result<Checkpoint> nvfp4_into_skeleton(const Checkpoint& file, Checkpoint skeleton,
                                       const std::vector<Tensor>& others, const Context& context);

}  // namespace ckpt
