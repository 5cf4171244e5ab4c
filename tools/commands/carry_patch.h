// `ckpt patch` and `ckpt set` once their steps are known: plan, show, run.
#pragma once

#include "plan/conversion/patch_run.h"
#include "tools/say/console.h"

namespace ckpt {

// Applies the patch, or writes it to `run.out`. Fails: as the patch engine.
Result<ExecuteReport> execute_patch(const PatchRun& run, const Patch& patch, const Console& console,
                                    const CommonOptions& common);

// Plans the patch, shows what changes, and without --dry-run does it. Fails: as planning and
// applying a patch. `most_values`: values that differ, shown line by line.
Result<int> run_patch(const PatchRun& run, const Console& console, const CommonOptions& common,
                      size_t most_values = 20);

}  // namespace ckpt
