// Runs a patch for `ckpt patch`, `ckpt set`, `ckpt doctor --fix` and ckpt::patch:
//
//   check_patched_out ─▶ earlier_patch, finish_earlier ─▶ plan_patching ─▶ execute_patch
#pragma once

#include <filesystem>

#include "plan/conversion/observer.h"
#include "plan/conversion/patching.h"

namespace ckpt {

struct PatchRun : PatchRequest {
  std::filesystem::path out;  // empty to patch in place
  LinkWay link = LinkWay::kReflink;
  bool dry_run = false;
  bool allow_nonfinite = false;
};

// Requires that `run.out` is new and not inside PATH, because OUT would become part of its own
// input. Sets `run.elsewhere`. Fails: kUsage.
Status check_patched_out(PatchRun& run);

// Fails: kUsage: `run.out` is the name of a file, but the patch makes a folder.
Status check_name_of_out(const PatchRun& run, const Patch& patch);

// Looks for an earlier unfinished patch of PATH. Fails: kUsage: PATH is a URL and would be written;
// no step was given and no patch is unfinished.
Result<PatchState> earlier_patch(const PatchRun& run);

// Finishes an interrupted patch and notes this. Fails: as finish_earlier_patch().
Status finish_earlier(const std::filesystem::path& path, Observer& observer,
                      JournalFrom from = JournalFrom::kHere);

// Fails as execute_patch() would before it writes anything, also for a dry run: kUsage; kIo.
Status check_patch_places(const PatchRun& run, const Patch& patch);

// Applies the patch, or writes it to `run.out`. Uses only threads and memory of `options`. Fails:
// as the patch engine.
Result<ExecuteReport> execute_patch(const PatchRun& run, const Patch& patch, Observer& observer,
                                    ExecuteOptions options = {});

}  // namespace ckpt
