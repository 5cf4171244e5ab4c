// How a run stays below --memory: how the memory is divided, how much a task needs, and a gate that
// starts tasks while there is room for them.
//
//   --memory = reserve | blocks that are read again | tasks at work | pieces that wait for a hash
//
// The reserve is for data in memory when the run begins (headers, the plan), for stacks and for the
// allocator. Unused buffers may fill the rest.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "core/chunks/tasks.h"

namespace ckpt {

struct MemoryShares {
  uint64_t blocks_bytes, tasks_bytes, pieces_bytes;
  uint64_t buffers_bytes;  // of all buffers, used and free
};
// `resident_bytes`: of the process before the run, which has so many threads. Where nothing is read
// again, the other shares have the room of the blocks.
MemoryShares share_memory(uint64_t memory_bytes, uint64_t resident_bytes, unsigned threads,
                          bool reads_again = true);

// The current memory of the process; 0 if the system does not report it.
uint64_t resident_bytes();

// Floats of a task, for so many threads.
uint64_t chunk_bytes(const MemoryShares& shares, unsigned threads, uint64_t wanted_bytes);

// Bytes read, floats of a strip and bytes written: an estimate that is rather too high.
uint64_t task_bytes(const Jobs& jobs, const Task& task);

// Hands out tasks in order, each when the running ones leave room for it; one task may always run.
// Thread-safe.
class TaskGate {
 public:
  explicit TaskGate(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  TaskGate(const TaskGate&) = delete;
  TaskGate& operator=(const TaskGate&) = delete;

  struct Turn {
    size_t index;
    uint64_t size_bytes;
  };
  // The next task; index SIZE_MAX if there is none. Each task must be ended, and must not wait for
  // a task that is handed out later.
  Turn begin(const Jobs& jobs);
  void end(const Turn& turn);

 private:
  const uint64_t limit_bytes_;
  std::mutex order_;  // one at a time waits for room, so that tasks begin in order
  size_t next_ = 0;
  std::mutex mutex_;
  std::condition_variable freed_;
  uint64_t used_bytes_ = 0;
};

}  // namespace ckpt
