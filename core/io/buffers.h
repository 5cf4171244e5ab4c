// Page-aligned memory that is used again: the engine's large buffers.
//
// A fresh buffer of some MiB costs a page fault for every 4 KiB, which for a fast encoder is a
// tenth of the run; so buffers go back to a pool instead of the system. BufferPool is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

namespace ckpt {

inline constexpr uint64_t kPageBytes = 4096;  // alignment that direct I/O asks for

// Grows, never shrinks; contents are lost when it grows.
class AlignedBuffer {
 public:
  // At least `size_bytes`, aligned to kPageBytes.
  std::byte* reserve(uint64_t size_bytes);
  uint64_t capacity_bytes() const { return capacity_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  uint64_t capacity_ = 0;
};

// What it keeps is bounded, and a few bytes never hold a large buffer: pieces wait to be hashed by
// the hundred.
class BufferPool {
 public:
  static constexpr uint64_t kMaxFreeBytes = uint64_t{96} << 20;

  // One for `size_bytes`, of at most four times as many; empty where there is none.
  AlignedBuffer take(uint64_t size_bytes);
  void give(AlignedBuffer buffer);
  uint64_t free_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::multimap<uint64_t, AlignedBuffer> free_;  // by capacity
  uint64_t free_bytes_ = 0;
};

// Bytes that will lie at `offset_bytes` of a file, in memory that is aligned as the file is: the
// address and the offset agree modulo kPageBytes, so that whole pages can be written directly.
struct Piece {
  AlignedBuffer buffer;
  uint64_t offset_bytes = 0;
  std::span<std::byte> bytes;
};
Piece make_piece(BufferPool& pool, uint64_t offset_bytes, uint64_t size_bytes);

}  // namespace ckpt
