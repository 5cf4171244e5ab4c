// Reads YAML of model cards and ModelOpt recipes with libyaml, without trust.
//
//   ---
//   license: apache-2.0
//   base_model:
//   - Qwen/Qwen3-8B
//   ---
//
// All scalars are texts, whatever their YAML type, because callers need only texts: "no" stays no,
// 1.0 stays 1.0. A plain ~, null or empty value is null.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"

namespace ckpt {

// The text between the first line, which must be "---", and the next "---"; nullopt without it.
std::optional<std::string> front_matter(std::string_view card);

// The first document of `text`. Fails: kUnsupported: it is not YAML, is nested too deeply or
// has a key that is not a text, naming the line.
Result<JsonValue> parse_yaml(std::string_view text);

// All documents of `text`, without ambiguities: also rejects duplicate keys, tags, merges (<<) and
// quoted texts that would be a number or a truth value without their quotes. Fails: as parse_yaml.
Result<std::vector<JsonValue>> parse_strict_yaml(std::string_view text);

// Converts to JSON text: keys keep their order, plain scalars follow YAML 1.2's core schema,
// decimal numbers keep their spelling. Rejects tags, merges, a second document, and numbers that
// readers interpret differently (010). Fails: as parse_yaml.
Result<std::string> yaml_as_json(std::string_view text);

}  // namespace ckpt
