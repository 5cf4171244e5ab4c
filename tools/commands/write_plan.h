// ckpt convert --plan-out: the plan as a file.
#pragma once

#include <filesystem>

#include "plan/conversion/pipeline.h"
#include "tools/say/console.h"

namespace ckpt {

// Plans and writes `path`, which is new, or with --force a plan; "-" is stdout. Fails: as
// plan_conversion; kUsage; kIo.
Result<int> write_plan(Conversion conversion, const std::filesystem::path& path,
                       const Console& console);

}  // namespace ckpt
