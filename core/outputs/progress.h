// Progress of long work.
#pragma once

#include <cstdint>
#include <string>

namespace ckpt {

// Receives the progress; called often, from one thread at a time.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void advanced(uint64_t done_bytes, uint64_t total_bytes) = 0;  // output bytes
  // A warning that the user should see before the work continues.
  virtual void note(const std::string&) {}
};

}  // namespace ckpt
