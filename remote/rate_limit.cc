#include "remote/rate_limit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace ckpt {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<uint64_t> bytes_per_second{0};
std::mutex mutex;
Clock::time_point paid_until{};  // when the bytes so far are within the limit

}  // namespace

void set_rate_limit(uint64_t limit) { bytes_per_second = limit; }

uint64_t rate_limit() { return bytes_per_second; }

void wait_for_rate(uint64_t size_bytes) {
  const uint64_t rate = bytes_per_second;
  if (rate == 0) return;
  const std::chrono::duration<double> needed(static_cast<double>(size_bytes) /
                                             static_cast<double>(rate));
  Clock::time_point end;
  {
    const std::lock_guard lock(mutex);
    paid_until =
        std::max(paid_until, Clock::now()) + std::chrono::duration_cast<Clock::duration>(needed);
    end = paid_until;
  }
  std::this_thread::sleep_until(end);
}

}  // namespace ckpt
