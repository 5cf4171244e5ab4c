// The __metadata__ of safetensors files that are split into other files.
#pragma once

#include "core/model/checkpoint.h"

namespace ckpt {

// Merges the entries of all files that were read, and all written files get the result. The first
// value of a key counts; descriptions of torchao's packing are dropped. Readers need "format".
void join_file_metadata(Checkpoint& checkpoint);

}  // namespace ckpt
