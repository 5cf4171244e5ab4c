#include "core/base/threads.h"

#include <system_error>

namespace ckpt {

std::vector<std::thread> start_threads(unsigned count, const std::function<void()>& work) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  try {
    while (threads.size() < count) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // The only way in which the standard library says that there is no thread to be had.
  }
  return threads;
}

}  // namespace ckpt
