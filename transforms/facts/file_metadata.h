// The __metadata__ of safetensors files that are cut again.
#pragma once

#include "core/model/checkpoint.h"

namespace ckpt {

// One for all files that will be written: the entries of all files that were read, the first of
// each key, without those that say how torchao packed a tensor. Readers need "format".
void join_file_metadata(Checkpoint& checkpoint);

}  // namespace ckpt
