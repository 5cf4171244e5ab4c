// Keys of attention that follow from several fields of config.json.
#pragma once

#include <optional>

#include "transforms/to_gguf/model.h"

namespace ckpt {

// The value of a key that follows from several fields: the sources from kSlidingPattern on.
Result<std::optional<MetaValue>> attention_key(const KeyRule& rule, const Model& model);

}  // namespace ckpt
