#include "plan/conversion/version.h"

#include "core/simd/dispatch.h"

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

}  // namespace

const BuildInfo& build_info() {
  static const BuildInfo kBuild{CKPT_VERSION, kBuildCommit, kBuildDate, kMachine, kIsStatic};
  return kBuild;
}

std::string version_line() {
  const BuildInfo& build = build_info();
  const std::string commit = build.commit.empty() ? "" : fmt::format("commit {}, ", build.commit);
  return fmt::format("ckpt {} ({}{})", build.version, commit, simd_target_name(simd_target()));
}

}  // namespace ckpt
