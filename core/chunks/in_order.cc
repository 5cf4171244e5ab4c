#include "core/chunks/in_order.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

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
      if (error_) return;  // the error of an earlier item is reported
      if (status) {
        lock.unlock();  // wakes threads that wait for this turn
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
  size_t next_ = 0;  // next item to make
  size_t turn_ = 0;  // next item to take
  std::optional<Error> error_;
};

}  // namespace

Status for_each_in_order(size_t count, unsigned threads, const OrderedWork& work) {
  Ordered ordered(count, work);
  std::atomic<size_t> next_worker{0};
  run_on_threads(std::min<size_t>(cores_or(threads), count), [&] { ordered.run(next_worker++); });
  return ordered.status();
}

}  // namespace ckpt
