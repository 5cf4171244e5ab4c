// Runs `ckpt patch` and `ckpt set` once their steps are known: plans, shows and applies the patch.
#pragma once

#include "plan/conversion/patch_run.h"
#include "tools/say/console.h"

namespace ckpt {

// Applies the patch, or writes it to `run.out`. Fails: as the patch engine.
Result<ExecuteReport> execute_patch(const PatchRun& run, const Patch& patch, const Console& console,
                                    const CommonOptions& common);

// Plans the patch, shows the changes and, without --dry-run, applies it. Fails: as planning and
// applying a patch. Shows at most `most_values` changed values, one per line.
Result<int> run_patch(const PatchRun& run, const Console& console, const CommonOptions& common,
                      size_t most_values = 20);

}  // namespace ckpt
