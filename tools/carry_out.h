// Carries a planned conversion out, as a command does: progress, what was made, what to do next.
#pragma once

#include "core/execute.h"
#include "tools/console.h"
#include "tools/pipeline.h"

namespace ckpt {

// `options`: force, allow_nonfinite and the share; the rest is filled in here. Gives the exit code.
Result<int> carry_out(const Plan& plan, const Conversion& conversion, ExecuteOptions options,
                      const Console& console, const CommonOptions& common);

// The options that carry_out() would use: digests of plans depend on them.
ExecuteOptions with_common(ExecuteOptions options, const CommonOptions& common);

}  // namespace ckpt
