// Documents of a checkpoint that are JSON objects, to be read or edited.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "core/base/result.h"
#include "core/json/json_edit.h"
#include "core/json/json_read.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// The content of the document at `path`, parsed once for all callers; nullptr if it does not exist.
// Fails: as Document::values; kCorrupt when it is not an object.
Result<std::shared_ptr<const JsonValue>> read_object(const Checkpoint& checkpoint,
                                                     std::string_view path);

// config.json's architectures[0], or GGUF's general.architecture; empty if neither is set.
std::string architecture_of(const Checkpoint& checkpoint);

// A document that is edited: its content and its layout.
struct JsonDocument {
  JsonText root;
  JsonStyle style;
};
// A copy of the document at `path`, to be edited; nullopt if it does not exist. Fails: as
// read_object.
Result<std::optional<JsonDocument>> read_json(const Checkpoint& checkpoint, std::string_view path);
// Stores the document in `checkpoint`; if its content did not change, it keeps every byte.
void write_json(Checkpoint& checkpoint, std::string_view path, const JsonDocument& document);

}  // namespace ckpt
