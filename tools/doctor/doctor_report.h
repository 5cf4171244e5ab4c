// The answer of `ckpt doctor`: a row for each program with the command that comes next, each
// finding once, and one command for everything. The text, --json and the page of `ckpt report` show
// it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checks/checks.h"
#include "plan/conversion/fixing.h"
#include "plan/examined.h"
#include "tools/line/commands.h"

namespace ckpt {

// The effect of the fixes for some programs, which were tried on headers.
struct Offer {
  std::string command;             // that applies them; empty: none would change anything
  std::vector<std::string> steps;  // that would change something, in their order
  std::vector<IdleStep> idle;      // that findings ask for and that change nothing
  Diagnosis left;                  // what would be found after them
};

struct ProgramRow {
  Verdict verdict;
  std::string fix;                // the command; empty: no step helps, or all is well
  std::vector<std::string> left;  // checks that would still fail
  std::string serve, convert;  // where all is well: llama.cpp runs the file that a folder becomes
};

// The same finding for several programs, or in several places, is shown once.
struct Shown {
  const Finding* finding;
  std::vector<std::string> profiles, places;
};

struct Report {
  std::filesystem::path path;
  DoctorOptions typed;
  Diagnosis diagnosis;
  std::vector<Verdict> older;  // of older releases, if nobody named one
  bool is_would_be = false;    // the diagnosis is that after fixes which were not applied
  bool is_training = false;    // a trainer's checkpoint, which is exported and never changed
  Offer all = {};              // the fixes for every program that was asked
  std::vector<ProgramRow> rows = {};
};

// Fails: as diagnosing what fixes leave.
Result<Report> report_of(const std::filesystem::path& path, const DoctorOptions& typed,
                         ExaminedFolder found);
// Rows without the effect of fixes.
std::vector<ProgramRow> plain_rows(const Diagnosis& diagnosis);

// Quantizers of a training are tensors of their own, and state of a trainer.
bool is_training_checkpoint(const Checkpoint& checkpoint);
std::string export_command(const std::filesystem::path& path,
                           const std::vector<std::string>& profiles);

// Checks that find an error, each once.
std::vector<std::string> failed_checks(const Diagnosis& diagnosis);
std::vector<Shown> gathered(const Diagnosis& diagnosis);
// One place decides whether a fix exists: the command line that takes a finding away, empty where a
// person must; what a person can do in addition or instead; whether --fix does it.
std::string fix_command(const Report& report, const Finding& finding);
std::string fix_words(const Report& report, const Finding& finding);
bool is_fixed(const Report& report, const Fix& fix);
// Whether `command` has a word that a person fills in.
bool has_blank(const std::string& command, const std::string& word);
// The one that fixes more than `all`, with the unquantized model at hand; empty where it would not.
std::string fix_with_base_command(const Report& report);

// "yes", "no" or "not checked": "yes" means that every check ran. `value` is one of the
// verdict's two.
std::string_view verdict_word(bool value, const Verdict& verdict);
// The fields of an object "verdict" that every command writes.
Json verdict_fields(const Verdict& verdict);

void show_diagnosis(const Console& console, const Report& report);

}  // namespace ckpt
