// The output of `ckpt diff --values`: how far the values of two checkpoints are apart.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/value_compare.h"
#include "core/model/checkpoint.h"
#include "plan/conversion/value_sides.h"
#include "tools/say/console.h"

namespace ckpt {

// Limits on how far values may be apart: `--fail-if 'sqnr<20'`, per tensor or for the total.
//
//   [total.] METRIC < | <= | > | >= NUMBER
//
// A gate states what fails, not what passes, and a number that cannot be compared (NaN) fails.

struct Metric {
  std::string_view name, help;
  // nullopt: the difference lacks this number (no side has codes)
  std::optional<double> (*of)(const ValueDifference&);
};
std::span<const Metric> all_metrics();

// The side that was quantized: B, unless only A has codes.
const ValueSide& coded_side(const ValueDifference& difference);

struct Gate {
  std::string text;  // as it was given
  const Metric* metric;
  bool of_total;
  bool is_above;  // fails above the limit, else below it
  bool or_equal;  // fails also at the limit
  double limit;

  bool fails(double value) const;
};

// Fails: kUsage; the message lists the metrics.
Result<Gate> parse_gate(std::string_view text);

struct ValueQuestion {
  std::string tensors = "*";  // a glob of tensors to compare
  std::vector<Gate> gates;
  uint64_t top = UINT64_MAX;  // how many differences to show
};

// Prints a verdict, then what cannot be compared, the tensors whose values differ, the worst first,
// the total and the gates that fail. Returns true if all is well: with gates, if none fails and
// every tensor could be compared; without, if nothing differs. Fails: kUsage: no tensor matches the
// glob, or no tensor has the number that a gate asks for; as compare_values.
Result<bool> diff_values(const ValueSides& sides, const ValueQuestion& question,
                         const Console& console, const CommonOptions& common);

}  // namespace ckpt
