// Runs a fuzz target over files instead of a fuzzer: every file of the folders that are named.
//
//   replay TARGET FOLDER...     a folder that is not there holds no files; none at all is an error
//
// Memory is limited, as -malloc_limit_mb does it for the fuzzer, where no sanitizer needs more.
#include "fuzz/replay.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

namespace fs = std::filesystem;

namespace {

void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit limit{rlim_t{512} << 20, rlim_t{512} << 20};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace

int main(int count, char** arguments) {
  limit_memory();
  const auto& targets = replay_targets();
  const auto target = std::find_if(targets.begin(), targets.end(), [&](const ReplayTarget& one) {
    return count > 1 && one.name == arguments[1];
  });
  if (target == targets.end()) {
    std::fprintf(stderr, "usage: replay TARGET FOLDER...\n");
    return 1;
  }
  std::set<fs::path> files;
  for (int i = 2; i < count; ++i) {
    const fs::path folder = arguments[i];
    if (fs::is_regular_file(folder)) files.insert(folder);
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) files.insert(entry.path());
    }
  }
  for (const fs::path& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    std::ifstream in(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    // A copy of exactly that size: a vector read from a stream has room at its end.
    const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    target->run(exact.data(), exact.size());
  }
  std::printf("%zu files\n", files.size());
  return files.empty() ? 1 : 0;
}
