// ckpt doctor --fix: fixes a checkpoint where it stands, or a copy of it.
#pragma once

#include <filesystem>

#include "plan/conversion/fixing.h"
#include "tools/line/commands.h"

namespace ckpt {

struct FixRequest {
  std::filesystem::path path;
  std::filesystem::path out;  // where the fixed checkpoint goes; empty: PATH itself changes
  Fixing fixing;
  bool dry_run = false;  // say which files would change, write nothing
};

struct FixDone {
  std::filesystem::path path;         // to check afterwards: PATH, or OUT where that was written
  std::optional<Diagnosis> would_be;  // of a dry run that would change something
};
// Fails: as the format, the steps and the patch engine; then nothing was changed.
Result<FixDone> apply_fixes(const FixRequest& fix, const Console& console,
                            const CommonOptions& common);

}  // namespace ckpt
