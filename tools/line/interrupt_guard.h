// Ends the program within a second of SIGINT or SIGTERM, even when a system call, the planning or
// the printing takes longer: what is on disk can be gone on with at any moment, as after kill -9.
// main.cc has one around every command.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/say/console.h"

namespace ckpt {

class InterruptGuard {
 public:
  // `hint`: what to type next after an interruption; may be empty.
  InterruptGuard(const Console& console, std::string hint);
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();  // the work is over: nothing ends it any more

 private:
  void run();
  bool is_over_within(std::chrono::milliseconds time);

  const Console& console_;
  const std::string hint_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::vector<std::thread> threads_;  // one; none where there is none: then the engine looks alone
};

}  // namespace ckpt
