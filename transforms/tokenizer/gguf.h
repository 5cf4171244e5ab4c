// The tokenizer of a folder, into a GGUF.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

Status take_tokenizer_into_gguf(Checkpoint& checkpoint, const OptionValues& options,
                                const Context& context);

}  // namespace ckpt
