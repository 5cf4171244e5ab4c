// How far long work has come.
#pragma once

#include <cstdint>
#include <string>

namespace ckpt {

// Told how far the work has come; called from one thread at a time, often.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void advanced(uint64_t done_bytes, uint64_t total_bytes) = 0;  // output bytes
  // A warning that the user should see before the work continues.
  virtual void note(const std::string&) {}
};

}  // namespace ckpt
