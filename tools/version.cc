#include "tools/version.h"

#include <nlohmann/json.hpp>

#include "quantizers/quantizers.h"
#include "tools/commands.h"

namespace ckpt {
namespace {

#ifdef CKPT_STATIC
constexpr bool kIsStatic = true;
#else
constexpr bool kIsStatic = false;
#endif

#if defined(__x86_64__)
constexpr std::string_view kMachine = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view kMachine = "aarch64";
#else
constexpr std::string_view kMachine = "other";
#endif

Run declare_version(CommandOptions&) {
  return [](const Console& console, const CommonOptions&) -> Result<int> {
    const BuildInfo& build = build_info();
    console.object("version", {{"version", build.version},
                               {"commit", build.commit},
                               {"date", build.date},
                               {"machine", build.machine},
                               {"simd", simd_in_use()},
                               {"static", build.is_static}});
    console.answer(version_line());
    return 0;
  };
}

}  // namespace

const BuildInfo& build_info() {
  static const BuildInfo kBuild{CKPT_VERSION, kBuildCommit, kBuildDate, kMachine, kIsStatic};
  return kBuild;
}

std::string version_line() {
  const BuildInfo& build = build_info();
  const std::string commit = build.commit.empty() ? "" : fmt::format("commit {}, ", build.commit);
  return fmt::format("ckpt {} ({}{})", build.version, commit, simd_in_use());
}

constinit const Command kVersionCommand{
    "version", "Prints version, commit and the vector instructions in use.",
    "  ckpt version\n  ckpt version --json", declare_version};

}  // namespace ckpt
