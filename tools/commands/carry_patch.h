// `ckpt patch` and `ckpt set` once their steps are known: plan, show, run.
#pragma once

#include <filesystem>
#include <string>

#include "plan/conversion/patching.h"
#include "tools/say/console.h"

namespace ckpt {

struct PatchRun : Patching {
  std::filesystem::path out;     // empty for a patch in place
  std::string link = "reflink";  // as typed
  bool dry_run = false;
  bool allow_nonfinite = false;
  size_t most_values = 20;  // values that differ, shown line by line
};

// A new place, and none in PATH: what is made there would be a part of what it is made from. Sets
// `run.elsewhere`. Fails: kUsage.
Status check_patched_out(PatchRun& run);

// Fails: kUsage: `run.out` is the name of a file, and the patch makes a folder.
Status check_name_of_out(const PatchRun& run, const Patch& patch);

// Finishes a patch that was interrupted, and says so. Fails: as recover_patch.
Status finish_earlier(const Console& console, const std::filesystem::path& path,
                      JournalFrom from = JournalFrom::kHere);

// Fails as carrying out the patch does before it writes anything; also for a patch that is only
// shown: kUsage; kIo.
Status check_patch_places(const PatchRun& run, const Patch& patch, LinkWay link);

// Applies the patch, or writes it to `run.out`. Fails: as the patch engine.
Result<ExecuteReport> execute_patch(const PatchRun& run, const Patch& patch, LinkWay link,
                                    const Console& console, const CommonOptions& common);

// Plans the patch, shows what changes, and without --dry-run does it. Fails: as planning and
// applying a patch.
Result<int> run_patch(const PatchRun& run, const Console& console, const CommonOptions& common);

}  // namespace ckpt
