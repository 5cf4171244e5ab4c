// The output of `ckpt doctor`: the verdict in a line, each finding once, and the command to type
// next.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checks/checks.h"
#include "plan/conversion/fixing.h"
#include "tools/line/commands.h"

namespace ckpt {

struct Report {
  std::filesystem::path path;
  std::vector<std::string> profiles;  // as typed
  std::string base;
  Diagnosis diagnosis;
  bool is_would_be = false;  // the diagnosis is that after fixes which were not applied

  // The effect of fixes; all empty where the checkpoint cannot be read.
  std::vector<std::string> steps;  // that would change something, in their order
  std::vector<IdleStep> idle;      // that findings ask for and that do nothing, each typed alone
  Diagnosis left;                  // what would be found after them
  bool rewrites_weights = false;
  bool is_training = false;  // a trainer's checkpoint, which is exported and never changed
  // Where all is well: profile and the command that serves it there.
  std::vector<std::pair<std::string, std::string>> serve;
};

// "yes", "no" or "not checked": "yes" means that every check ran. `value` is one of the
// verdict's two.
std::string_view verdict_word(bool value, const Verdict& verdict);

void show_diagnosis(const Console& console, const Report& report);

}  // namespace ckpt
