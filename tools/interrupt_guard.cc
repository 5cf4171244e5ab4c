#include "tools/interrupt_guard.h"

#include <cstdio>
#include <cstdlib>

#include "core/threads.h"
#include "tools/commands.h"

namespace ckpt {

InterruptGuard::InterruptGuard(const Console& console)
    : console_(console), threads_(start_threads(1, [this] { run(); })) {}

InterruptGuard::~InterruptGuard() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool InterruptGuard::is_over_within(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return over_; });
}

void InterruptGuard::run() {
  constexpr std::chrono::milliseconds kLook{20}, kGrace{600};
  while (!interrupted) {
    if (is_over_within(kLook)) return;
  }
  if (is_over_within(kGrace)) return;
  console_.error({ErrorCode::kInterrupted,
                  {},
                  "interrupted",
                  "the same command again, which goes on where this one ended"});
  std::fflush(stdout);
  std::_Exit(130);
}

}  // namespace ckpt
