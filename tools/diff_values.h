// What `ckpt diff --values` says: how far the values of two checkpoints are apart.
#pragma once

#include <string>
#include <vector>

#include "core/checkpoint.h"
#include "tools/console.h"
#include "tools/diff_gates.h"

namespace ckpt {

struct ValueQuestion {
  std::string tensors = "*";  // a glob: these alone
  std::vector<Gate> gates;
};

// Prints the tensors whose values differ, those that cannot be compared, the total and the gates
// that fail. Values are those that dequantize gives. The answer is true when all is well: with
// gates, when none fails and every tensor could be compared; without, when nothing differs.
// Fails: kUsage: no tensor is like the glob, or a gate asks for what no tensor has; as
// compare_values and dequantize.
Result<bool> diff_values(Checkpoint a, Checkpoint b, const ValueQuestion& question,
                         const Console& console, const CommonOptions& common);

}  // namespace ckpt
