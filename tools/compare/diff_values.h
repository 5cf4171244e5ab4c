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

// Limits on how far values may be apart: `--fail-if 'sqnr<20'`, of each tensor or of all together.
//
//   [total.] METRIC < | <= | > | >= NUMBER
//
// A gate names what fails, not what passes; so a number that cannot be compared (NaN) fails.

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
  bool is_above;  // fails for more than the limit, else for less
  bool or_equal;  // and for the limit itself
  double limit;

  bool fails(double value) const;
};

// Fails: kUsage, naming the metrics.
Result<Gate> parse_gate(std::string_view text);

struct ValueQuestion {
  std::string tensors = "*";  // a glob: these alone
  std::vector<Gate> gates;
  uint64_t top = UINT64_MAX;  // that many of what differs are shown
};

// Prints a verdict, then what cannot be compared, the tensors whose values differ, the worst first,
// the total and the gates that fail. The answer is true when all is well: with gates, when none
// fails and every tensor could be compared; without, when nothing differs.
// Fails: kUsage: no tensor is like the glob, or a gate asks for what no tensor has; as
// compare_values.
Result<bool> diff_values(const ValueSides& sides, const ValueQuestion& question,
                         const Console& console, const CommonOptions& common);

}  // namespace ckpt
