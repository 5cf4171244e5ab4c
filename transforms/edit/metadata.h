// metadata: sets and removes GGUF keys, or entries of safetensors' __metadata__.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

extern const Transform kMetadataEdit;

}  // namespace ckpt
