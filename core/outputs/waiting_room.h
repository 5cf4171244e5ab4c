// Pieces that wait to be hashed, of all files that a run writes: the limit of their memory, and the
// threads that hash several files together, as one core computes several chains of SHA-256 in
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
    // Tells that the bytes given to add() are hashed, which took so long. May add more.
    virtual Status hashed(Duration time) = 0;
  };

  // Call before the first file adds bytes. Each round hashes so many files, as far as the memory
  // suffices to wait for them; at least 1.
  void set_limits(uint64_t size_bytes, size_t files_together) {
    limit_bytes_ = size_bytes;
    together_ = files_together;
  }

  uint64_t used_bytes() const { return used_bytes_; }
  uint64_t limit_bytes() const { return limit_bytes_; }
  void keep(uint64_t size_bytes) { used_bytes_ += size_bytes; }
  void release(uint64_t size_bytes) { used_bytes_ -= size_bytes; }

  // The next bytes of a file, for its hash. Nobody else uses them and the hash until
  // file.hashed() is called by a thread that hashes.
  void add(File& file, Sha256& hash, std::span<const std::byte> bytes);
  // Hashes while enough files have bytes, or too little room is left to wait for them.
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
