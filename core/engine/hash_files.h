// SHA-256 of many files, several of them at a time on each core.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

struct HashOptions {
  unsigned threads = 0;  // 0: one for each core
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(uint64_t)> advanced;  // bytes of each step, from any thread
};
// Calls `done` for each of `files`, from any thread, with its digest in lower-case hex or the error
// of reading it. Requires: none is a URL. Fails: as `done`, with the error of the first file for
// which it fails; files after that one may have no digest.
Status hash_files(const std::vector<std::filesystem::path>& files, const HashOptions& options,
                  const std::function<Status(size_t, Result<std::string>)>& done);

}  // namespace ckpt
