// Plans a patch: reads as little of PATH as the steps need, runs them, compares.
//
//   all steps kDocuments   only documents are read and written, whatever the weights weigh
//   else                   every header is read; tensor bytes only where a file is rewritten
//
// patch_run.h carries it out.
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
  bool elsewhere = false;        // for write_patched: every file is laid out
  bool rewrite_weights = false;  // steps may change values
  uint64_t header_slack_bytes = 0;
  ReadOptions reading;
};

struct PlannedPatch {
  Patch patch;
  Checkpoint before;               // patch.after.checkpoint as it was
  std::vector<std::string> notes;  // things a person should know
};

// recover_patch() of core/patch/journal.h with the file names of a checkpoint.
Result<PatchState> finish_earlier_patch(const std::filesystem::path& path,
                                        const StepHook& hook = {},
                                        JournalFrom from = JournalFrom::kHere);

// Writes nothing. Fails: kUsage for a payload step without rewrite_weights, for steps on documents
// of a lone file; as the format and the steps do.
Result<PlannedPatch> plan_patching(const PatchRequest& patching);

}  // namespace ckpt
