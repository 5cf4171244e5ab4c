// The YAML that model cards begin with: a small part of the language, read without trust.
//
//   ---
//   license: apache-2.0            plain, 'single' and "double" quoted scalars
//   language: [en, "no"]           flow lists and maps
//   base_model:
//   - Qwen/Qwen3-8B                block lists, at the key's own indent too
//   model-index: {...}             nested maps; | and > blocks
//   ---
//
// What a reader would get wrong: all scalars are texts here, whatever YAML takes them for, because
// only texts are asked for: "no" stays no, 1.0 stays 1.0; ~, null and nothing are null.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json_read.h"

namespace ckpt {

// The text between the first line, which must be "---", and the next "---"; nullopt without one.
std::optional<std::string> front_matter(std::string_view card);

// Fails: kUnsupported for what is outside of the part described above, naming the line.
Result<JsonValue> parse_yaml(std::string_view text);

}  // namespace ckpt
