// ckpt doctor --fix: mends a checkpoint where it stands.
#pragma once

#include <filesystem>

#include "tools/commands.h"
#include "tools/mending.h"

namespace ckpt {

struct Fix {
  std::filesystem::path path;
  Mending mending;
};

// Fails: as the format, the steps and the patch engine; then nothing was changed.
Status fix_in_place(const Fix& fix, const Console& console, const CommonOptions& common);

}  // namespace ckpt
