// Previews that a command shows before it makes a change.
#pragma once

#include "core/model/plan.h"
#include "plan/size_target/size_target.h"
#include "tools/say/console.h"

namespace ckpt {

// Prints the output of --dry-run: for each output a table of tensors, the size of each type, and
// the totals in bytes and bits per weight.
void show_plan(const Console& console, const Plan& plan);

// Prints the types that a target chose for each role, and the expected error.
void show_chosen_types(const Console& console, const SizeTarget& target, const ChosenTypes& chosen);

// Prints the values that a patch changes in metadata and JSON documents as "KEY: old → new", at
// most `most` lines and then the number of others. --json prints all.
void show_changed_values(const Console& console, const Checkpoint& before, const Checkpoint& after,
                         size_t most);

}  // namespace ckpt
