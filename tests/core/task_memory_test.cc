// How --memory is divided, and who waits for room.
#include "core/engine/task_memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace ckpt {
namespace {

constexpr uint64_t kOneMiB = uint64_t{1} << 20;

TEST(TaskMemory, SharesAndWhatIsThereAlreadyStayBelowTheLimit) {
  for (const uint64_t resident : {uint64_t{0}, 20 * kOneMiB, 150 * kOneMiB}) {
    for (const unsigned threads : {3u, 24u, 96u}) {
      const MemoryShares shares = share_memory(512 * kOneMiB, resident, threads);
      EXPECT_LE(shares.blocks_bytes + shares.tasks_bytes + shares.pieces_bytes,
                shares.buffers_bytes);
      EXPECT_LE(shares.buffers_bytes + resident + threads * (256 << 10), 512 * kOneMiB);
      EXPECT_GE(shares.buffers_bytes, 256 * kOneMiB) << resident << " " << threads;
    }
  }
}

// Header tasks, which take a little more than the bytes that they write.
Jobs jobs_of(const std::vector<uint64_t>& sizes) {
  Jobs jobs;
  for (const uint64_t size : sizes) {
    jobs.tasks.push_back({Task::Kind::kHeader, 0, 0, 0, 0, 0, 0, size});
  }
  return jobs;
}

TEST(TaskMemory, TasksAtWorkStayBelowTheLimitAndBeginInOrder) {
  std::vector<uint64_t> sizes;
  for (uint64_t i = 0; i < 200; ++i) sizes.push_back((1 + i % 5) * kOneMiB);
  const Jobs jobs = jobs_of(sizes);
  TaskGate gate(12 * kOneMiB);
  std::atomic<uint64_t> used{0}, most{0}, done{0};
  std::atomic<bool> is_past = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (;;) {
        const TaskGate::Turn turn = gate.begin(jobs);
        if (turn.index >= sizes.size()) return;
        const uint64_t now = used += sizes[turn.index];
        if (now > 12 * kOneMiB) is_past = true;
        if (now > most) most = now;
        std::this_thread::yield();
        used -= sizes[turn.index];
        ++done;
        gate.end(turn);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, sizes.size());
  EXPECT_FALSE(is_past) << most;
}

TEST(TaskMemory, ATaskLargerThanTheLimitRunsAlone) {
  const Jobs jobs = jobs_of({kOneMiB, 100 * kOneMiB, kOneMiB});
  TaskGate gate(2 * kOneMiB);
  const TaskGate::Turn first = gate.begin(jobs);
  std::atomic<int> begun{0};
  std::thread other([&] {
    const TaskGate::Turn large = gate.begin(jobs);
    ++begun;
    gate.end(large);
    gate.end(gate.begin(jobs));
    ++begun;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(begun, 0);
  gate.end(first);
  other.join();
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(gate.begin(jobs).index, SIZE_MAX);
}

}  // namespace
}  // namespace ckpt
