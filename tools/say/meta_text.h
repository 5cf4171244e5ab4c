// Metadata values for people and for JSON.
#pragma once

#include <string>

#include "core/model/metadata.h"
#include "tools/say/console.h"

namespace ckpt {

// One line; long texts and arrays are cut short and say how much there is.
std::string meta_text(const MetaValue& value);
// "u32", "array of text".
std::string meta_type_name(const MetaValue& value);
// The whole value. Numbers that JSON cannot hold (NaN, Inf) become null.
Json meta_json(const MetaValue& value);

}  // namespace ckpt
