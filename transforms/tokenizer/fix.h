// A tokenizer that transformers 5 wrote, readable for 4.57 too.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// Fails: kUsage, kCorrupt, kUnsupported.
Status fix_tokenizer(Checkpoint& checkpoint, const OptionValues& options, const Context& context);

}  // namespace ckpt
