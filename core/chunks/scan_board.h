// Results of scans, for the tasks that wait for them. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/chunks/tasks.h"
#include "core/model/codec.h"

namespace ckpt {

class ScanBoard {
 public:
  explicit ScanBoard(size_t scans) : scanned_(scans) {}

  // Numbers of some rows; the same rows may come twice.
  void add(uint32_t scan, const Stats& stats);
  // Counts a task of a scan as over, done or failed, so that nobody waits for it for ever.
  void ended(const Jobs& jobs, const Task& task);
  // The numbers that a tensor shares with its peers. Waits until all were scanned; the scans stand
  // before in the list of tasks, so somebody is at work on them.
  Stats wait_for(const Jobs& jobs, const TensorJob& job);

 private:
  struct Scanned {
    Stats stats;
    uint32_t ended = 0;
  };
  std::vector<Scanned> scanned_;  // by Jobs::scans
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace ckpt
