// JSON as Python's json module reads it: NaN, Infinity and numbers beyond the range of a double,
// which configurations hold and strict parsers refuse. Nothing else that Python refuses is taken.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace ckpt {

// A number as JSON spells it ("-1.5e3"), of any magnitude.
bool is_json_number(std::string_view token);

// The value of `text`, with NaN and infinities where Python has them; nullopt where Python's json
// finds no value either. The caller bounds the depth.
std::optional<nlohmann::json> parse_python_json(std::string_view text);

}  // namespace ckpt
