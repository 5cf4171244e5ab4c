#include "core/outputs/waiting_room.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/trace.h"
#include "core/simd/sha256_each.h"

namespace ckpt {

void WaitingRoom::add(File& file, Sha256& hash, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({&file, &hash, bytes});
}

// Half of the room stays free for pieces that come while a round is hashed.
void WaitingRoom::hash_if_enough() {
  while (hash_round(used_bytes_ > limit_bytes_ / 2 ? 1 : together_)) {
  }
}

Status WaitingRoom::hash_all() {
  while (hash_round(1)) {
  }
  const std::lock_guard lock(mutex_);
  if (error_) return Failure(*error_);
  return {};
}

// Takes as many bytes of each piece as the shortest one has, so that no chain is computed alone.
bool WaitingRoom::hash_round(size_t at_least) {
  std::vector<Waiting> round;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < at_least || waiting_.empty()) return false;
    const auto end = waiting_.begin() +
                     static_cast<std::ptrdiff_t>(std::min(waiting_.size(), together_));
    round.assign(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
  }
  const auto start = std::chrono::steady_clock::now();
  const size_t step_bytes =
      std::ranges::min(round, {}, [](const Waiting& each) { return each.bytes.size(); })
          .bytes.size();
  std::vector<Sha256Piece> pieces;
  for (const Waiting& each : round) pieces.push_back({each.hash, each.bytes.first(step_bytes)});
  {
    const TraceSpan span("hash");
    add_to_each(pieces);
  }
  const Duration time = std::chrono::steady_clock::now() - start;
  for (Waiting& each : round) {
    each.bytes = each.bytes.subspan(step_bytes);
    each.time += time;
  }
  put_back(round);
  return true;
}

// Pieces with bytes left return to the front, so that their memory is freed first. Then each other
// file may add its next bytes, and may have to read them from the disk.
void WaitingRoom::put_back(std::span<Waiting> round) {
  {
    const std::lock_guard lock(mutex_);
    for (const Waiting& each : round) {
      if (!each.bytes.empty()) waiting_.push_front(each);
    }
  }
  for (const Waiting& each : round) {
    if (!each.bytes.empty()) continue;
    Status status = each.file->hashed(each.time);
    const std::lock_guard lock(mutex_);
    if (!status && !error_) error_ = std::move(status.error());
  }
}

}  // namespace ckpt
