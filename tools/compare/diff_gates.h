// Limits on how far values may be apart: `--fail-if 'sqnr<20'`, of each tensor or of all together.
//
//   [total.] METRIC < | <= | > | >= NUMBER
//
// A gate names what fails, not what passes; so a number that cannot be compared (NaN) fails.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/value_compare.h"

namespace ckpt {

struct Metric {
  std::string_view name, help;
  // nullopt: the difference has no such number (no side has codes).
  std::optional<double> (*of)(const ValueDifference&);
};
std::span<const Metric> all_metrics();

// The side that was quantized: B, unless only A has codes.
const ValueSide& coded_side(const ValueDifference& difference);

struct Gate {
  std::string text;  // as it was given
  const Metric* metric;
  bool of_total;
  enum class Order : uint8_t { kLess, kLessOrEqual, kGreater, kGreaterOrEqual } order;
  double limit;

  bool fails(double value) const;
};

// Fails: kUsage, naming the metrics.
Result<Gate> parse_gate(std::string_view text);

}  // namespace ckpt
