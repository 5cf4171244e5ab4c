// The tokenizer of another folder, where it is proven to be the same.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

Status take_tokenizer_from(Checkpoint& checkpoint, const OptionValues& options,
                           const Context& context);

}  // namespace ckpt
