#include "core/chunks/in_order.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/threads.h"

namespace ckpt {
namespace {

class Ordered {
 public:
  Ordered(size_t count, const OrderedWork& work) : count_(count), work_(work) {}

  void run(size_t worker) {
    std::unique_lock lock(mutex_);
    while (!error_ && next_ < count_) {
      const size_t i = next_++;
      lock.unlock();
      Status status = work_.make(worker, i);
      lock.lock();
      turn_came_.wait(lock, [&] { return error_ || turn_ == i; });
      if (error_) return;  // of an earlier one, which is the one to tell
      if (status) {
        lock.unlock();  // whoever waits waits for this turn to pass
        status = work_.take(worker, i);
        lock.lock();
      }
      if (!status) error_ = std::move(status.error());
      ++turn_;
      turn_came_.notify_all();
    }
  }
  Status status() {
    if (error_) return Failure(std::move(*error_));
    return {};
  }

 private:
  const size_t count_;
  const OrderedWork& work_;
  std::mutex mutex_;
  std::condition_variable turn_came_;
  size_t next_ = 0;  // to be made
  size_t turn_ = 0;  // to be taken
  std::optional<Error> error_;
};

}  // namespace

Status for_each_in_order(size_t count, unsigned threads, const OrderedWork& work) {
  const unsigned cores = threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  Ordered ordered(count, work);
  const auto others = static_cast<unsigned>(std::min<size_t>(cores, count));
  std::atomic<size_t> next_worker{1};
  std::vector<std::thread> workers =
      start_threads(others > 1 ? others - 1 : 0, [&] { ordered.run(next_worker++); });
  ordered.run(0);
  for (std::thread& worker : workers) worker.join();
  return ordered.status();
}

}  // namespace ckpt
