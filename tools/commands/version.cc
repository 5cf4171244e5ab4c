// ckpt version
#include "plan/conversion/version.h"

#include <nlohmann/json.hpp>

#include "core/simd/dispatch.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace {

Run declare_version(CommandOptions&) {
  return [](const Console& console, const CommonOptions&) -> Result<int> {
    const BuildInfo& build = build_info();
    console.object("version", {{"version", build.version},
                               {"commit", build.commit},
                               {"date", build.date},
                               {"machine", build.machine},
                               {"simd", simd_target_name(simd_target())},
                               {"static", build.is_static}});
    console.answer(version_line());
    return 0;
  };
}

}  // namespace

extern const Command kVersionCommand{"version",
                                     "Prints version, commit and the vector instructions in use.",
                                     "  ckpt version\n  ckpt version --json", declare_version};

}  // namespace ckpt
