#include "core/io/buffers.h"

#include <sys/mman.h>

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
