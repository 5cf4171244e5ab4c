// How a run keeps below --memory: what it is divided into, what a task takes of it, and a gate that
// lets tasks begin while there is room for them.
//
//   --memory = reserve | blocks that are read again | tasks at work | pieces that wait for a hash
//
// The reserve is for what is in memory when the run begins (headers, the plan), for stacks and for
// the allocator. Buffers that nobody uses just now fill what the others leave.
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

// Memory of the process just now; 0 where the system does not say.
uint64_t resident_bytes();

// Floats of a task, for so many threads.
uint64_t chunk_bytes(const MemoryShares& shares, unsigned threads, uint64_t wanted_bytes);

// Bytes read, floats of a strip and bytes written: an estimate, rather too high.
uint64_t task_bytes(const Jobs& jobs, const Task& task);

// Gives out tasks in their order, each when those at work leave room for it; one always may work.
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
  // The next task; index SIZE_MAX: there is none. Each must be ended, on whose way nothing may wait
  // for a task that is given out later.
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
