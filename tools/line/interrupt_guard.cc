#include "tools/line/interrupt_guard.h"

#include <poll.h>

#include <cstdio>
#include <cstdlib>

#include "core/base/threads.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace {

// Whether a line can be written without waiting for who reads it, or for a thread that does.
bool is_free(std::FILE* stream) {
  pollfd ready = {::fileno(stream), POLLOUT, 0};
  return ::ftrylockfile(stream) == 0 && ::poll(&ready, 1, 0) == 1;
}

}  // namespace

InterruptGuard::InterruptGuard(const Console& console, std::string hint)
    : console_(console), hint_(std::move(hint)), threads_(start_threads(1, [this] { run(); })) {}

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
  if (is_free(stdout) && is_free(stderr)) {
    console_.error({ErrorCode::kInterrupted, {}, "interrupted", hint_});
    std::fflush(stdout);
  }
  std::_Exit(130);
}

}  // namespace ckpt
