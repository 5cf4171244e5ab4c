// The answer of `ckpt doctor`. It has a row with the next command for each program, all findings,
// and one command that fixes everything. The text, --json and the page of `ckpt report` show it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checks/checks.h"
#include "plan/conversion/fixing.h"
#include "plan/diagnosed.h"
#include "tools/line/commands.h"

namespace ckpt {

// The effect of all fixes for some programs. The doctor tries them on headers, without weights.
struct Offer {
  std::string command;             // applies the fixes; empty: no fix would change anything
  std::vector<std::string> steps;  // steps that would change something, in order
  std::vector<NoOpStep> no_op;     // steps that findings ask for, but that would change nothing
  Diagnosis left;                  // the diagnosis after the fixes
};

struct ProgramRow {
  Verdict verdict;
  std::string fix;                // the command; empty: no step helps, or no check fails
  std::vector<std::string> left;  // checks that would still fail
  std::string serve, convert;  // next commands if no check fails; llama.cpp converts folders first
};

// A finding that several programs or places share. It is shown once.
struct MergedFinding {
  const Finding* finding;
  std::vector<std::string> profiles, places;
};

struct Report {
  std::filesystem::path path;
  DoctorOptions typed;
  Diagnosis diagnosis;
  std::vector<Verdict> older;  // of older releases, unless the user named a profile
  bool is_would_be = false;    // describes the checkpoint after fixes that are not applied
  bool is_training = false;    // a trainer's checkpoint: fixing means exporting it
  Offer all = {};              // the fixes for all programs together
  std::vector<ProgramRow> rows = {};
};

// Tries the fixes and fills in the rows. Fails: as diagnose().
Result<Report> report_of(const std::filesystem::path& path, const DoctorOptions& typed,
                         FolderDiagnosis found);
// Returns the rows without commands, for callers that do not try the fixes.
std::vector<ProgramRow> plain_rows(const Diagnosis& diagnosis);

// Whether tensors hold the state of quantizers, as quantization-aware training saves them.
bool is_training_checkpoint(const Checkpoint& checkpoint);
std::string export_command(const std::filesystem::path& path,
                           const std::vector<std::string>& profiles);

// The checks that report an error, without duplicates.
std::vector<std::string> failed_checks(const Diagnosis& diagnosis);
std::vector<MergedFinding> gathered(const Diagnosis& diagnosis);
// How to fix a finding: the command, or "" if only a person can fix it; advice for people, in
// addition to the command or instead; and whether `ckpt doctor --fix` applies the fix. Other code
// does not decide this.
std::string fix_command(const Report& report, const Finding& finding);
std::string fix_words(const Report& report, const Finding& finding);
bool is_fixed(const Report& report, const Fix& fix);
// Whether `command` contains `word` as a placeholder that the user replaces.
bool has_blank(const std::string& command, const std::string& word);
// The command with a placeholder for the unquantized model, if that would fix more than `all` does;
// else empty.
std::string fix_with_base_command(const Report& report);

// "yes", "no" or "not checked": "yes" means that every check ran. `value` is one of the
// verdict's two.
std::string_view verdict_word(bool value, const Verdict& verdict);
// The fields that the object "verdict" has in the output of every command.
Json verdict_fields(const Verdict& verdict);

void show_diagnosis(const Console& console, const Report& report);

}  // namespace ckpt
