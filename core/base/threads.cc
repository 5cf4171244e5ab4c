#include "core/base/threads.h"

#include <system_error>

namespace ckpt {

std::vector<std::thread> start_threads(unsigned count, const std::function<void()>& work) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  try {
    while (threads.size() < count) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // The standard library reports in no other way that it cannot start a thread.
  }
  return threads;
}

}  // namespace ckpt
