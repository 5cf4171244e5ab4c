// Keys of chat templates.
#pragma once

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// A text, or a list of {name, template}; null when there is none.
// Fails: kCorrupt: a file that is not UTF-8, or no JSON.
Result<JsonValue> find_chat_template(const Checkpoint& checkpoint, const JsonValue& config);
void add_chat_template(const JsonValue& found, Metadata& metadata);

}  // namespace ckpt
