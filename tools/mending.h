// Mends: the steps that a diagnosis asks for, applied to a checkpoint that is being planned.
//
//   diagnose ─▶ mends ─▶ steps ─▶ diagnose ... until nothing that a step could mend is left
//
// What a reader would get wrong: one mend uncovers the next finding (a wrapper wants processor
// files), so one round is not enough.
#pragma once

#include <string>
#include <vector>

#include "checks/checks.h"
#include "core/transform.h"

namespace ckpt {

struct Mended {
  Checkpoint checkpoint;
  std::vector<std::string> steps;  // as they were applied; each changed something
  std::vector<std::string> idle;   // steps that were asked for and change nothing, or fail
  Diagnosis left;                  // what the last look found
  bool rewrites_weights = false;   // some of `steps` do
};

struct Mending {
  std::vector<std::string> profiles;
  std::string base;  // the unquantized model's folder; may be empty
  bool rewrite_weights = false;
};
// Steps that cannot be applied are noted and left out; so, unnoted, are those that change nothing.
// Fails: kUsage: an unknown profile.
Result<Mended> mend(Checkpoint checkpoint, const Mending& mending, const Context& context);

}  // namespace ckpt
