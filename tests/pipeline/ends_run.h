// Runs that are ended before they are done.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/engine/execute.h"

namespace ckpt {

// Ends a run once so many bytes are done, and keeps what it said.
struct EndsRun final : Progress {
  explicit EndsRun(uint64_t limit) : limit_bytes(limit) {}
  void advanced(uint64_t done_bytes, uint64_t total_bytes) override {
    last_total = total_bytes;
    if (done_bytes >= limit_bytes) stop = true;
    if (done_bytes == total_bytes && at_end) at_end();
  }
  void note(const std::string& text) override { notes += text + "\n"; }
  uint64_t limit_bytes, last_total = 0;
  std::atomic<bool> stop{false};
  std::function<void()> at_end;
  std::string notes;
};

inline ExecuteOptions options_for(EndsRun& ender, unsigned threads = 2,
                                  uint64_t chunk_bytes = 1 << 16) {
  ExecuteOptions options;
  options.threads = threads;
  options.chunk_bytes = chunk_bytes;
  options.progress = &ender;
  options.interrupted = &ender.stop;
  options.resume = {true, "test", "ckpt convert"};
  return options;
}

}  // namespace ckpt
