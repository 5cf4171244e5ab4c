// Changes of a patch to metadata and JSON documents, value by value: "KEY: old → new".
#pragma once

#include <string>
#include <vector>

#include "core/model/checkpoint.h"
#include "tools/say/console.h"

namespace ckpt {

// At most `most` lines, then how many more there are. Objects of --json: all of them.
void show_changed_values(const Console& console, const Checkpoint& before, const Checkpoint& after,
                         size_t most);

}  // namespace ckpt
