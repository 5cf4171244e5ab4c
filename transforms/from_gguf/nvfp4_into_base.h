// NVFP4 weights of a GGUF in the folder that it was made from; all other tensors are the folder's.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// A ModelOpt folder. `base`: the folder, unquantized. Fails: kUsage: a folder of another model;
// kUnsupported: rows with several scales.
Result<Checkpoint> nvfp4_into_base(const Checkpoint& file, Checkpoint base, const Context& context);

}  // namespace ckpt
