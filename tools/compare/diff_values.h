// The output of `ckpt diff --values`: how far the values of two checkpoints are apart.
#pragma once

#include <string>
#include <vector>

#include "core/model/checkpoint.h"
#include "plan/conversion/value_sides.h"
#include "tools/compare/diff_gates.h"
#include "tools/say/console.h"

namespace ckpt {

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
