// Formats metadata values for people and as JSON.
#pragma once

#include <string>

#include "core/model/metadata.h"
#include "tools/say/console.h"

namespace ckpt {

// One line; long texts and arrays are truncated and their size is added.
std::string meta_text(const MetaValue& value);
// The type's name, such as "u32" or "array of text".
std::string meta_type_name(const MetaValue& value);
// The full value. Numbers that JSON cannot hold (NaN, Inf) become null.
Json meta_json(const MetaValue& value);

}  // namespace ckpt
