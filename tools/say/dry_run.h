// The output of --dry-run for a plan.
#pragma once

#include "core/model/plan.h"
#include "tools/say/console.h"

namespace ckpt {

// For each output a table of its tensors, what each type takes, and the totals, in bytes and in
// bits a weight.
void show_plan(const Console& console, const Plan& plan);

}  // namespace ckpt
