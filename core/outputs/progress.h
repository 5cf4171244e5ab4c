// Receives the progress of long work.
#pragma once

#include <cstdint>
#include <string>

namespace ckpt {

// Receives progress. Called often, from one thread at a time.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void advanced(uint64_t done_bytes, uint64_t total_bytes) = 0;  // bytes of output
  // A warning that the user should see before the work continues.
  virtual void note(const std::string&) {}
};

}  // namespace ckpt
