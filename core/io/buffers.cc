#include "core/io/buffers.h"

#include <new>

#include "core/base/arithmetic.h"

namespace ckpt {

void AlignedBuffer::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{kPageBytes});
}

std::byte* AlignedBuffer::reserve(uint64_t size_bytes) {
  if (size_bytes > capacity_ || memory_ == nullptr) {
    const uint64_t wanted = round_up(size_bytes == 0 ? 1 : size_bytes, kPageBytes);
    memory_.reset();
    memory_.reset(static_cast<std::byte*>(::operator new (wanted, std::align_val_t{kPageBytes})));
    capacity_ = wanted;
  }
  return memory_.get();
}

AlignedBuffer BufferPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return {};
  AlignedBuffer buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

void BufferPool::give(AlignedBuffer buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(buffer));
}

Piece make_piece(BufferPool& pool, uint64_t offset_bytes, uint64_t size_bytes) {
  Piece piece{pool.take(), offset_bytes, {}};
  const uint64_t lead = offset_bytes % kPageBytes;
  std::byte* memory = piece.buffer.reserve(lead + size_bytes);
  piece.bytes = {memory + lead, size_bytes};
  return piece;
}

}  // namespace ckpt
