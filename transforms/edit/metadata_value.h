// Values of GGUF keys as a person types them.
//
//   5   yarn   ["a", "b"]        of the key's type
//   u32:5   text:5   u32:[1, 2]  of a type that is named
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/metadata.h"

namespace ckpt {

struct TypedValue {
  std::optional<MetaType> type;  // as named
  std::string_view value;
};
TypedValue split_type(std::string_view text);

// One value; nullopt where `text` is none of that type, or the type is kArray.
std::optional<MetaValue> parse_value(MetaType type, std::string_view text);

// A JSON list. Fails: kUsage: none, or an item is of another type.
Result<MetaValue> parse_list(MetaType element, std::string_view text);

// Whether `text` reads as a number, a flag or a list, so that its type must be named.
bool looks_typed(std::string_view text);

}  // namespace ckpt
