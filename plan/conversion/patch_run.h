// A patch from what was asked to the files, as `ckpt patch`, `ckpt set`, `ckpt doctor --fix` and
// ckpt::patch run it:
//
//   check_patched_out ─▶ earlier_patch, finish_earlier ─▶ plan_patching ─▶ execute_patch
#pragma once

#include <filesystem>

#include "plan/conversion/observer.h"
#include "plan/conversion/patching.h"

namespace ckpt {

struct PatchRun : PatchRequest {
  std::filesystem::path out;  // empty for a patch in place
  LinkWay link = LinkWay::kReflink;
  bool dry_run = false;
  bool allow_nonfinite = false;
};

// A new place, and none in PATH: what is made there would be a part of what it is made from. Sets
// `run.elsewhere`. Fails: kUsage.
Status check_patched_out(PatchRun& run);

// Fails: kUsage: `run.out` is the name of a file, and the patch makes a folder.
Status check_name_of_out(const PatchRun& run, const Patch& patch);

// Looks for the work of an earlier patch of PATH. Fails: kUsage: a URL that would be written to; no
// step, and nothing to finish.
Result<PatchState> earlier_patch(const PatchRun& run);

// Finishes a patch that was interrupted, and says so. Fails: as finish_earlier_patch().
Status finish_earlier(const std::filesystem::path& path, Observer& observer,
                      JournalFrom from = JournalFrom::kHere);

// Fails as execute_patch() does before it writes anything; also for a patch that is only shown:
// kUsage; kIo.
Status check_patch_places(const PatchRun& run, const Patch& patch);

// Applies the patch, or writes it to `run.out`. Of `options`, threads and memory count. Fails: as
// the patch engine.
Result<ExecuteReport> execute_patch(const PatchRun& run, const Patch& patch, Observer& observer,
                                    ExecuteOptions options = {});

}  // namespace ckpt
