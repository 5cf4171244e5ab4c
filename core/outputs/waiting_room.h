// Holds the pieces of all files that a run writes until they are hashed, within a limit of memory.
// Hashes pieces of several files together, because one core computes several chains of SHA-256 in
// little more than the time of one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>

#include "core/base/result.h"
#include "core/base/sha256.h"

namespace ckpt {

// Thread-safe.
class WaitingRoom {
 public:
  using Duration = std::chrono::steady_clock::duration;
  // A file whose bytes are hashed in order.
  class File {
   public:
    virtual ~File() = default;
    // Called when the bytes given to add() are hashed, which took `time`. May add more.
    virtual Status hashed(Duration time) = 0;
  };

  // Call before the first file adds bytes. A round hashes `files_together` files, at least 1; fewer
  // if half of the memory is used before so many have bytes.
  void set_limits(uint64_t size_bytes, size_t files_together) {
    limit_bytes_ = size_bytes;
    together_ = files_together;
  }

  uint64_t used_bytes() const { return used_bytes_; }
  uint64_t limit_bytes() const { return limit_bytes_; }
  void keep(uint64_t size_bytes) { used_bytes_ += size_bytes; }
  void release(uint64_t size_bytes) { used_bytes_ -= size_bytes; }

  // Queues the next bytes of a file for its hash. The file uses neither until hashed() is called,
  // which any thread that hashes may do.
  void add(File& file, Sha256& hash, std::span<const std::byte> bytes);
  // Hashes as long as enough files have bytes, or half of the memory is used.
  void hash_if_enough();
  // Hashes some bytes of the files that have any. Returns whether there were any.
  bool hash_some() { return hash_round(1); }
  // Hashes all. Fails: as the first File::hashed() that failed in any thread.
  Status hash_all();

 private:
  struct Waiting {
    File* file;
    Sha256* hash;
    std::span<const std::byte> bytes;
    Duration time{0};
  };
  bool hash_round(size_t at_least);
  void put_back(std::span<Waiting> round);

  std::atomic<uint64_t> limit_bytes_{uint64_t{64} << 20};
  std::atomic<uint64_t> used_bytes_{0};
  size_t together_ = 1;
  std::mutex mutex_;
  std::deque<Waiting> waiting_;  // at most one of each file
  std::optional<Error> error_;
};

}  // namespace ckpt
