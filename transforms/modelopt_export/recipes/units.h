// Rules of quantizers as rows of a table.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/json/json_read.h"

namespace ckpt {

// What a rule says beside the numbers.
enum class RuleMark : uint8_t {
  kNone,
  kCastCache,     // use_constant_amax
  kConstantAmax,  // constant_amax: 2688.0, an input_scale of 1.0
  kBlocks128,     // a scale for 128 x 128 values
  kAffine,        // a bias
  kRotate,        // rotated first
  kBatchNorm1d,   // the marks from here: of layers of this class alone
  kBatchNorm2d,
  kBatchNorm3d,
  kLeakyRelu,
  kEmbedding,
};

struct RuleRow {
  std::string_view glob;     // of quantizers' names
  std::string_view numbers;  // "nvfp4": a file of configs/numerics; empty: turned off
  RuleMark mark = RuleMark::kNone;
};
JsonValue rule_of(const RuleRow& row);
JsonValue rules_of(std::span<const RuleRow> rows);

// `name` as "nvfp4": a QuantizerAttributeConfig.
std::optional<JsonValue> number_form(std::string_view name);
// `name` as "kv_fp8": a list of rules.
std::optional<JsonValue> unit_rules(std::string_view name);

}  // namespace ckpt
