// The types that a target chose, as they are shown.
#pragma once

#include "plan/size_target/size_target.h"
#include "tools/say/console.h"

namespace ckpt {

// A table of roles and types, and what is expected of them.
void show_chosen_types(const Console& console, const SizeTarget& target, const ChosenTypes& chosen);

}  // namespace ckpt
