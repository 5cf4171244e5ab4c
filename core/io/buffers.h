// Page-aligned memory that is used again: the engine's large buffers.
//
// A fresh buffer of some MiB costs a page fault for every 4 KiB, which for a fast encoder is a
// tenth of the run; so buffers go back to a pool instead of the system. BufferPool is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

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

class BufferPool {
 public:
  AlignedBuffer take();
  void give(AlignedBuffer buffer);

 private:
  std::mutex mutex_;
  std::vector<AlignedBuffer> free_;
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
