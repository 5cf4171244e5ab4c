#include "core/engine/task_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/io/buffers.h"
#include "core/io/descriptor.h"

namespace ckpt {
namespace {

constexpr uint64_t kMinChunkBytes = 64 << 10;
constexpr uint64_t kThreadBytes = 256 << 10;  // its stack, and what the allocator keeps for it
constexpr uint64_t kMinPiecesBytes = 4 << 20;

// Sizes of buffers are rounded up, and one that was used before may be larger than asked for.
uint64_t with_slack(uint64_t size_bytes) { return size_bytes + size_bytes / 8 + kPageBytes; }

uint64_t source_bytes(const Tensor& stored, const std::vector<SliceIndex>& slices,
                      const Grain& grain, const Task& task) {
  uint64_t out = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    const PartRange range = part_range(stored.codec->parts[i], grain, task.first, task.count);
    out += with_slack(gather_bytes(slices[i], range.first_bytes, range.size_bytes));
  }
  return out;
}

uint64_t floats_bytes(const Tensor& tensor, const Grain& grain) {
  return tensor.recoded().repack != nullptr ? 0 : with_slack(strip_bytes(tensor, grain));
}

uint64_t recode_bytes(const Jobs& jobs, const Task& task) {
  const TensorJob& job = jobs.tensors[task.output][task.job];
  const Tensor& tensor = *job.tensor;
  uint64_t out = source_bytes(*tensor.recoded().from, job.slices, job.grain, task) +
                 floats_bytes(tensor, job.grain);
  for (const PartRule& rule : tensor.codec->parts) {
    out += with_slack(part_range(rule, job.grain, task.first, task.count).size_bytes);
  }
  if (job.block_amax) {
    const uint64_t blocks = tensor.recoded().block_amax->values() / job.grain.rows * task.count;
    out += 3 * with_slack(blocks * sizeof(float));
  }
  return out;
}

}  // namespace

MemoryShares share_memory(uint64_t memory_bytes, uint64_t resident_bytes, unsigned threads,
                          bool reads_again) {
  const uint64_t needed = resident_bytes + memory_bytes / 12 + threads * kThreadBytes;
  const uint64_t reserve = std::max(memory_bytes / 6, needed);
  const uint64_t rest = std::max(memory_bytes - std::min(memory_bytes, reserve), memory_bytes / 4);
  const uint64_t seventh = rest / 7;
  if (!reads_again) return {0, seventh * 5, std::max(seventh * 2, kMinPiecesBytes), rest};
  return {seventh * 4, seventh * 2, std::max(seventh, kMinPiecesBytes), rest};
}

uint64_t resident_bytes() {
  const Descriptor file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t got = file.is_open() ? ::read(file.get(), text, sizeof text) : 0;
  const std::string_view numbers(text, got > 0 ? static_cast<size_t>(got) : 0);
  const size_t second = numbers.find(' ');
  uint64_t pages = 0;
  if (second == std::string_view::npos) return 0;
  std::from_chars(numbers.data() + second + 1, numbers.data() + numbers.size(), pages);
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Most tasks take less than one and a half chunks: bytes read, floats of a strip, bytes to write.
// The gate holds back those that take more.
uint64_t chunk_bytes(const MemoryShares& shares, unsigned threads, uint64_t wanted_bytes) {
  const uint64_t fair = shares.tasks_bytes * 2 / (uint64_t{threads} * 3 + 2);
  return std::max(kMinChunkBytes, std::min(wanted_bytes, fair));
}

uint64_t task_bytes(const Jobs& jobs, const Task& task) {
  switch (task.kind) {
    case Task::Kind::kHeader:
    case Task::Kind::kSameAs: return with_slack(task.count);
    case Task::Kind::kCopy: {
      const SliceIndex& slices = jobs.tensors[task.output][task.job].slices[task.part];
      const bool is_cached = jobs.tensors.size() > 1;  // several outputs read it
      return with_slack(task.count) +
             with_slack(gather_into_bytes(slices, task.first, task.count, is_cached));
    }
    case Task::Kind::kRecode: return recode_bytes(jobs, task);
    case Task::Kind::kScan: {
      const ScanJob& job = jobs.scans[task.job];
      return source_bytes(*job.tensor->recoded().from, job.slices, job.grain, task) +
             floats_bytes(*job.tensor, job.grain);
    }
  }
  return 0;
}

TaskGate::Turn TaskGate::begin(const Jobs& jobs) {
  const std::lock_guard order(order_);
  if (next_ >= jobs.tasks.size()) return {SIZE_MAX, 0};
  const size_t index = next_++;
  const uint64_t size_bytes = task_bytes(jobs, jobs.tasks[index]);
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return used_bytes_ == 0 || used_bytes_ + size_bytes <= limit_bytes_; });
  used_bytes_ += size_bytes;
  return {index, size_bytes};
}

void TaskGate::end(const Turn& turn) {
  {
    const std::lock_guard lock(mutex_);
    used_bytes_ -= turn.size_bytes;
  }
  freed_.notify_one();
}

}  // namespace ckpt
