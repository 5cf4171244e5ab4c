// A place in a JSON document, as a person types it.
//
//   text_config.rope_theta     keys with dots between; numbers step into arrays
//   /a.b/c                     as JSON pointer, where a key has a dot in it
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_edit.h"

namespace ckpt {

using JsonPath = std::vector<std::string>;

JsonPath json_path(std::string_view text);

// The value at `path`; null if it is absent.
const JsonText* find_at(const JsonText& root, const JsonPath& path);

// An item of an array; null when `key` is not one of its indexes.
JsonText* item_at(JsonText& array, const std::string& key);

// The object or array that holds the last key of `path`; creates missing objects if `make` is set.
// Null if a part of the path does not exist or is not a container.
JsonText* holder_at(JsonText& root, const JsonPath& path, bool make);

}  // namespace ckpt
