// Ends the program within a second of SIGINT or SIGTERM, even when a system call or the planning
// takes longer: what is on disk can be gone on with at any moment, as after kill -9.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "tools/console.h"

namespace ckpt {

class InterruptGuard {
 public:
  explicit InterruptGuard(const Console& console);
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();  // the work is over: nothing ends it any more

 private:
  void run();
  bool is_over_within(std::chrono::milliseconds time);

  const Console& console_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::vector<std::thread> threads_;  // one; none where there is none: then the engine looks alone
};

}  // namespace ckpt
