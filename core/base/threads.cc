#include "core/base/threads.h"

#include <algorithm>
#include <system_error>

namespace ckpt {

void*& inherited_pointer() {
  thread_local void* current = nullptr;
  return current;
}

std::vector<std::thread> start_threads(unsigned count, const std::function<void()>& work) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  const auto begin = [work, pointer = inherited_pointer()] {
    inherited_pointer() = pointer;
    work();
  };
  try {
    while (threads.size() < count) threads.emplace_back(begin);
  } catch (const std::system_error&) {
    // The standard library only reports by an exception that it cannot start a thread.
  }
  return threads;
}

void run_on_threads(size_t count, const std::function<void()>& work) {
  auto others = start_threads(count > 1 ? static_cast<unsigned>(count - 1) : 0, work);
  work();
  for (std::thread& thread : others) thread.join();
}

unsigned cores_or(unsigned threads) {
  return threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
}

Status check_not_interrupted(const std::atomic<bool>* interrupted, std::string_view more) {
  if (interrupted == nullptr || !*interrupted) return {};
  return fail(ErrorCode::kInterrupted, "interrupted{}", more);
}

}  // namespace ckpt
