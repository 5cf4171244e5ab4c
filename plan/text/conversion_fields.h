// The options of a conversion by their names: what a recipe says, and what a plan file keeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plan/conversion/conversion.h"

namespace ckpt {

enum class FieldKind : uint8_t {
  kText,
  kPath,
  kFlag,   // "yes" or "no"
  kSize,   // "5GB", or a number
  kRules,  // may come several times, and the order counts: --keep, --only, --tensor-type
};

struct ConversionField {
  std::string_view name;  // the option's, without dashes
  FieldKind kind;
};

// The value of --split-tensors. Fails: kUsage: no whole number, or 0.
Result<uint64_t> parse_tensor_count(std::string_view text);

// All but IN, OUT, --to, --step, --also and --for, which recipes spell in their own way.
std::vector<ConversionField> conversion_fields();
std::optional<ConversionField> find_conversion_field(std::string_view name);

// Sets the field `name`. Fails: kUsage: a value of another kind. Requires: the field is known.
Status set_field(Conversion& conversion, std::string_view name, std::string value);

}  // namespace ckpt
