// Page-aligned memory that is reused for the engine's large buffers.
//
// A new buffer of some MiB costs a page fault per 4 KiB, which for a fast encoder is a tenth of the
// run. So buffers return to a pool instead of the system. BufferPool is thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <utility>

namespace ckpt {

inline constexpr uint64_t kPageBytes = 4096;  // alignment required by direct I/O

// Memory that grows but never shrinks. Growing discards the content.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    AlignedBuffer old;
    swap(old);
    swap(other);
    return *this;
  }
  ~AlignedBuffer();

  // Returns at least `size_bytes`, aligned to kPageBytes.
  std::byte* reserve(uint64_t size_bytes);
  uint64_t capacity_bytes() const { return capacity_; }
  // The size of all buffers in the process.
  static uint64_t all_bytes() { return all_bytes_.load(std::memory_order_relaxed); }

 private:
  void swap(AlignedBuffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(capacity_, other.capacity_);
  }

  std::byte* memory_ = nullptr;
  uint64_t capacity_ = 0;
  static inline std::atomic<uint64_t> all_bytes_{0};
};

// Keeps free buffers within the part of a limit that used ones leave. A small request never gets a
// large buffer, because hundreds of pieces may wait to be hashed.
class BufferPool {
 public:
  static constexpr uint64_t kUsualBytes = uint64_t{96} << 20;
  // `limit_bytes` applies to all buffers of the process; beyond it, free buffers return to the
  // system.
  explicit BufferPool(uint64_t limit_bytes = kUsualBytes) : idle_limit_bytes_(limit_bytes) {}
  // Called when a run begins or ends: the limit is the sum of the shares of all current runs, or
  // the initial limit if there are none.
  void begin_share(uint64_t limit_bytes);
  void end_share(uint64_t limit_bytes);
  // The pool for all code in this process that reads and writes tensors.
  static BufferPool& shared();

  // Returns an unused buffer of `size_bytes` or slightly more, if there is one.
  AlignedBuffer take(uint64_t size_bytes);
  void give(AlignedBuffer buffer);
  uint64_t free_bytes() const;

 private:
  using Free = std::list<AlignedBuffer>;
  using Sizes = std::multimap<uint64_t, Free::iterator>;
  AlignedBuffer remove(Sizes::iterator found);
  void shrink_to(uint64_t all_bytes);

  uint64_t limit_bytes() const { return shares_ == 0 ? idle_limit_bytes_ : shares_bytes_; }

  mutable std::mutex mutex_;
  const uint64_t idle_limit_bytes_;
  uint64_t shares_ = 0, shares_bytes_ = 0;  // a share may be of 0 bytes
  Free free_;    // longest unused first
  Sizes sizes_;  // by capacity, then by age
  uint64_t free_bytes_ = 0;
};

// Uninitialized memory for some values from the shared pool.
template <class T>
class PooledArray {
 public:
  explicit PooledArray(uint64_t count)
      : buffer_(BufferPool::shared().take(count * sizeof(T))),
        values_(reinterpret_cast<T*>(buffer_.reserve(count * sizeof(T))), count) {}
  PooledArray(PooledArray&&) noexcept = default;
  PooledArray& operator=(PooledArray&&) = delete;
  ~PooledArray() { BufferPool::shared().give(std::move(buffer_)); }

  std::span<T> span() const { return values_; }
  std::span<std::byte> bytes() const { return std::as_writable_bytes(values_); }

 private:
  AlignedBuffer buffer_;
  std::span<T> values_;
};

// Bytes for position `offset_bytes` of a file, in memory that is aligned like the file: address and
// offset are equal modulo kPageBytes, so that entire pages can be written directly.
struct Piece {
  AlignedBuffer buffer;
  uint64_t offset_bytes = 0;
  std::span<std::byte> bytes;
};
Piece make_piece(BufferPool& pool, uint64_t offset_bytes, uint64_t size_bytes);

}  // namespace ckpt
