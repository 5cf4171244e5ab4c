// Applies the steps that a diagnosis asks for to a checkpoint that is being planned.
//
//   diagnose ─▶ fixes ─▶ steps ─▶ diagnose ... until no step could fix another finding
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

// The options of a diagnosis with everything that checks need from this program: steps, forms of
// packed weights, and tokenizers. The tokenizers of BASE are read as `context` prescribes.
DiagnosisOptions diagnosis_options_for(Context context, std::vector<std::string> profiles);

// Requires that `base` is a folder or a checkpoint file; "" passes. Fails: kUsage; as recognize().
Status check_base(const std::string& base);

struct FolderDiagnosis {
  Diagnosis diagnosis;
  std::vector<Verdict> older = {};       // of older releases, if counted
  std::optional<Checkpoint> checkpoint;  // nullopt: it is unreadable
  bool is_whole = true;                  // whether the index matches the files
};
// Reads `path` and diagnoses it. A damaged checkpoint gets verdicts too. Fails: as recognize(), as
// reading except for kCorrupt, and as diagnose().
Result<FolderDiagnosis> diagnose_folder(const std::filesystem::path& path,
                                        const DiagnosisOptions& diagnosis_options,
                                        const ReadOptions& reading);

// A step that a finding asks for but that changes nothing.
struct NoOpStep {
  std::string step;
  std::string why;  // error of the step; empty: it runs without changes
};

struct FixedCheckpoint {
  Checkpoint checkpoint;
  std::vector<std::string> steps;  // applied steps, all of which changed something
  std::vector<NoOpStep> no_op;     // requested steps without effect
  Diagnosis left;                  // the last diagnosis
  bool rewrites_weights = false;   // whether one of `steps` does
};

struct FixOptions {
  std::vector<std::string> profiles;
  std::string base;  // the unquantized model's folder; may be empty
  bool rewrite_weights = false;
  const Diagnosis* found =
      nullptr;  // of the unchanged checkpoint, for these profiles; null: not made yet
  decltype(DiagnosisOptions::files_to_write) files_to_write = {};
};
// Omits steps that cannot be applied, with a note, and steps that change nothing, without one.
// Fails: kUsage: an unknown profile.
Result<FixedCheckpoint> fix_checkpoint(Checkpoint checkpoint, const FixOptions& fixing,
                                       const Context& context);

// Turns the "Try: --step ..." of a failed step into a complete command.
std::string with_patch_command(std::string text, const std::filesystem::path& path);

// The steps of `diagnosis` that change nothing if each is applied alone. Skips steps that rewrite
// weights, because planning one may read all weights.
std::vector<NoOpStep> no_op_steps(const Checkpoint& checkpoint, const Diagnosis& diagnosis,
                                  const Context& context);

}  // namespace ckpt
