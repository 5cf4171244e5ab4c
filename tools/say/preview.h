// Previews: a change as a command shows it, before it is made.
#pragma once

#include "core/model/plan.h"
#include "plan/size_target/size_target.h"
#include "tools/say/console.h"

namespace ckpt {

// The output of --dry-run: for each output a table of its tensors, what each type takes, and the
// totals, in bytes and in bits a weight.
void show_plan(const Console& console, const Plan& plan);

// A table of roles and the types that a target chose for them, and what is expected of them.
void show_chosen_types(const Console& console, const SizeTarget& target, const ChosenTypes& chosen);

// Changes of a patch to metadata and JSON documents, value by value: "KEY: old → new". At most
// `most` lines, then how many more there are. Objects of --json: all of them.
void show_changed_values(const Console& console, const Checkpoint& before, const Checkpoint& after,
                         size_t most);

}  // namespace ckpt
