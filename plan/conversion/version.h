// The version of ckpt, as shown by --version, `ckpt version`, manual pages.
#pragma once

#include <string>
#include <string_view>

namespace ckpt {

// Defined in a file that cmake/commit.cmake writes in every build.
extern const char* const kBuildCommit;
extern const char* const kBuildDate;

struct BuildInfo {
  std::string_view version;  // "0.1.0", as CMakeLists.txt has it
  std::string_view commit;  // "3214dc8c1a2b", "-dirty" behind it where files differ; empty: unknown
  std::string_view date;    // of the commit, "2026-11-22"; empty: unknown
  std::string_view machine;  // "x86_64", "aarch64"
  bool is_static;            // needs no library of the system
};
const BuildInfo& build_info();

// "ckpt 0.1.0 (commit 3214dc8c1a2b, avx2)": scripts take the first two words.
std::string version_line();

}  // namespace ckpt
