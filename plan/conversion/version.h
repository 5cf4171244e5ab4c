// The version of ckpt for --version, `ckpt version` and manual pages.
#pragma once

#include <string>
#include <string_view>

namespace ckpt {

// Defined in a file that cmake/commit.cmake writes in every build.
extern const char* const kBuildCommit;
extern const char* const kBuildDate;

struct BuildInfo {
  std::string_view version;  // "0.1.0", from CMakeLists.txt
  std::string_view commit;  // "3214dc8c1a2b", "-dirty" after it if files differ; empty: unknown
  std::string_view date;    // of the commit: "2026-11-22"; empty: unknown
  std::string_view machine;  // "x86_64", "aarch64"
  bool is_static;            // needs no shared library
};
const BuildInfo& build_info();

// Returns "ckpt 0.1.0 (commit 3214dc8c1a2b, avx2)". Scripts parse the first two words.
std::string version_line();

}  // namespace ckpt
