// Reads tensor bytes to compare them and to hash files.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/base/git_id.h"
#include "core/base/result.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// True when both hold the same bytes in every part. Codecs and shapes must agree. Both Stored.
// `advanced` receives the bytes of each step, of one side; its error ends the comparison.
Result<bool> same_bytes(const Tensor& a, const Tensor& b,
                        const std::function<Status(uint64_t)>& advanced = {});

// Runs job(0) ... job(count - 1) on `threads` threads (0 = all cores), each once; the error of the
// lowest index is returned.
Status for_each_parallel(size_t count, unsigned threads, const std::function<Status(size_t)>& job);

// SHA-256 of a whole file, lower-case hex. `advanced` receives the bytes of each step, from the
// calling thread; `git_id` all bytes too. Fails: kIo; kInterrupted when `interrupted` turns true.
// From a URL, kReadsOfServer / kUrlsHashed parts are read at a time.
inline constexpr unsigned kUrlsHashed = 2;  // at most, at the same time
Result<std::string> hash_file(const std::filesystem::path& path,
                              const std::atomic<bool>* interrupted = nullptr,
                              const std::function<void(uint64_t)>& advanced = {},
                              GitId* git_id = nullptr);

}  // namespace ckpt
