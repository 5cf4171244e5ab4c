#include "core/chunks/scan_board.h"

namespace ckpt {

void ScanBoard::add(uint32_t scan, const Stats& stats) {
  const std::lock_guard lock(mutex_);
  combine(scanned_[scan].stats, stats);
}

void ScanBoard::ended(const Jobs& jobs, const Task& task) {
  if (task.kind != Task::Kind::kScan) return;
  const std::lock_guard lock(mutex_);
  if (++scanned_[task.job].ended == jobs.scans[task.job].tasks) changed_.notify_all();
}

Stats ScanBoard::wait_for(const Jobs& jobs, const TensorJob& job) {
  const Recoded& recoded = job.tensor->recoded();
  Stats stats = recoded.stats.value_or(Stats{});
  stats.own_amax = stats.amax;
  std::unique_lock lock(mutex_);
  for (const uint32_t scan : job.scans) {
    changed_.wait(lock, [&] { return scanned_[scan].ended == jobs.scans[scan].tasks; });
    combine(stats, scanned_[scan].stats);
    if (scan == job.scans.front()) stats.own_amax = scanned_[scan].stats.amax;
  }
  return stats;
}

}  // namespace ckpt
