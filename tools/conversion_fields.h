// The options of a conversion by their names: what a recipe says, and what a plan file keeps.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tools/pipeline.h"

namespace ckpt {

enum class FieldKind : uint8_t {
  kText,
  kPath,
  kFlag,   // "yes" or "no"
  kSize,   // "5GB"
  kRules,  // may come several times, and the order counts: --keep, --only, --tensor-type
};

struct ConversionField {
  std::string_view name;  // the option's, without dashes
  FieldKind kind;
};

// All but IN, OUT, --to, --step, --also and --for, which recipes spell in their own way.
std::span<const ConversionField> conversion_fields();
const ConversionField* find_conversion_field(std::string_view name);  // nullptr when unknown

// Sets the field `name`. Fails: kUsage: a value of another kind. Requires: the field is known.
Status set_field(Conversion& conversion, std::string_view name, std::string value);

}  // namespace ckpt
