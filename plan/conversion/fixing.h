// Fixes: the steps that a diagnosis asks for, applied to a checkpoint that is being planned.
//
//   diagnose ─▶ fixes ─▶ steps ─▶ diagnose ... until nothing that a step could fix is left
//
// One fix uncovers the next finding (a wrapper needs processor files), so one round is not enough.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checks/checks.h"
#include "core/model/format.h"
#include "core/model/transform.h"

namespace ckpt {

// An examination with all that checks ask of this program: its steps, forms of packed weights, and
// tokenizers, of which BASE is read as `context` does.
DiagnosisOptions diagnosis_options_for(Context context, std::vector<std::string> profiles);

// Requires a folder, or a file that is a checkpoint; "" passes. Fails: kUsage; as recognize().
Status check_base(const std::string& base);

struct FolderDiagnosis {
  Diagnosis diagnosis;
  std::vector<Verdict> older = {};       // of older releases; empty unless the caller counts them
  std::optional<Checkpoint> checkpoint;  // none if it cannot be read at all
  bool is_whole = true;                  // else it is what programs have that take the files alone
};
// Reads `path` and diagnoses it; one that is damaged gets its verdicts too. Fails: as recognize(),
// as reading but for kCorrupt, and as diagnose().
Result<FolderDiagnosis> diagnose_folder(const std::filesystem::path& path,
                                        const DiagnosisOptions& diagnosis_options,
                                        const ReadOptions& reading);

// A step that a finding asks for and that changes nothing.
struct NoOpStep {
  std::string step;
  std::string why;  // the error; empty: it runs and changes nothing
};

struct FixedCheckpoint {
  Checkpoint checkpoint;
  std::vector<std::string> steps;  // as they were applied; each changed something
  std::vector<NoOpStep> no_op;     // those that were asked for and changed nothing
  Diagnosis left;                  // the last diagnosis
  bool rewrites_weights = false;   // some of `steps` do
};

struct FixOptions {
  std::vector<std::string> profiles;
  std::string base;  // the unquantized model's folder; may be empty
  bool rewrite_weights = false;
  const Diagnosis* found =
      nullptr;  // of the unchanged checkpoint, for these profiles; null: none yet
};
// Steps that cannot be applied are omitted with a note; steps that change nothing are omitted
// without one. Fails: kUsage: an unknown profile.
Result<FixedCheckpoint> fix_checkpoint(Checkpoint checkpoint, const FixOptions& fixing,
                                       const Context& context);

// The "Try: --step ..." of a failed step, as a separate command.
std::string with_patch_command(std::string text, const std::filesystem::path& path);

// The steps of `diagnosis` that change nothing if each is applied alone. Steps that rewrite weights
// are not tried, because planning one may read all weights.
std::vector<NoOpStep> no_op_steps(const Checkpoint& checkpoint, const Diagnosis& diagnosis,
                                  const Context& context);

}  // namespace ckpt
