// Plans a patch: reads as little of PATH as the steps need, runs them and compares the result.
//
//   all steps kDocuments   reads and writes only documents, however large the weights are
//   otherwise              reads every header, and tensor bytes only where a file is rewritten
//
// patch_run.h executes the plan.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/patch/patch.h"
#include "plan/conversion/steps.h"

namespace ckpt {

struct PatchRequest {
  std::filesystem::path path;
  std::vector<Step> steps;
  bool elsewhere = false;        // for write_patched(): all files are laid out
  bool rewrite_weights = false;  // allow steps to change values
  uint64_t header_slack_bytes = 0;
  ReadOptions reading;
};

struct PlannedPatch {
  Patch patch;
  Checkpoint before;               // patch.after.checkpoint before the steps
  std::vector<std::string> notes;  // notes for the user
};

// Calls recover_patch() of core/patch/journal.h with the file names of a checkpoint.
Result<PatchState> finish_earlier_patch(const std::filesystem::path& path,
                                        const StepHook& hook = {},
                                        JournalFrom from = JournalFrom::kHere);

// Writes nothing. Fails: kUsage for a step that changes values without rewrite_weights, and for
// steps on documents of a single file; as the format and the steps do.
Result<PlannedPatch> plan_patching(const PatchRequest& patching);

}  // namespace ckpt
