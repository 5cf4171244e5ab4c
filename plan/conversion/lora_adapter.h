// LoRA adapters: folders that look like a model and hold the difference to one.
#pragma once

#include "core/model/checkpoint.h"
#include "plan/conversion/conversion.h"

namespace ckpt {

// Fails: kUnsupported: `checkpoint` is an adapter, and an output needs a whole model. Where it is
// copied, a note says what it is.
Status check_whole_model(const Checkpoint& checkpoint, const Conversion& conversion,
                         const Context& context);

}  // namespace ckpt
