#include "core/io/buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "core/base/arithmetic.h"

namespace ckpt {
namespace {

constexpr uint64_t kHugeBytes = 4 << 20;  // holds a huge page, wherever it begins

}  // namespace

void AlignedBuffer::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{kPageBytes});
}

std::byte* AlignedBuffer::reserve(uint64_t size_bytes) {
  if (size_bytes > capacity_ || memory_ == nullptr) {
    const uint64_t wanted = round_up(size_bytes == 0 ? 1 : size_bytes, kPageBytes);
    memory_.reset();
    memory_.reset(static_cast<std::byte*>(::operator new (wanted, std::align_val_t{kPageBytes})));
    capacity_ = wanted;
    // Direct I/O looks up every page of its memory: a tenth of a copy's CPU time when they are
    // small. A wish that the system may refuse.
    if (wanted >= kHugeBytes) (void)::madvise(memory_.get(), wanted, MADV_HUGEPAGE);
  }
  return memory_.get();
}

AlignedBuffer BufferPool::take(uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = free_.lower_bound(size_bytes);
  if (found == free_.end() || found->first > 4 * std::max(size_bytes, kPageBytes)) return {};
  AlignedBuffer buffer = std::move(found->second);
  free_bytes_ -= found->first;
  free_.erase(found);
  return buffer;
}

// One that is too much goes back to the system.
void BufferPool::give(AlignedBuffer buffer) {
  const uint64_t size_bytes = buffer.capacity_bytes();
  const std::lock_guard lock(mutex_);
  if (size_bytes == 0 || free_bytes_ + size_bytes > kMaxFreeBytes) return;
  free_bytes_ += size_bytes;
  free_.emplace(size_bytes, std::move(buffer));
}

uint64_t BufferPool::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return free_bytes_;
}

Piece make_piece(BufferPool& pool, uint64_t offset_bytes, uint64_t size_bytes) {
  const uint64_t lead = offset_bytes % kPageBytes;
  Piece piece{pool.take(lead + size_bytes), offset_bytes, {}};
  std::byte* memory = piece.buffer.reserve(lead + size_bytes);
  piece.bytes = {memory + lead, size_bytes};
  return piece;
}

}  // namespace ckpt
