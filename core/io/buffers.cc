#include "core/io/buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>

#include "core/base/arithmetic.h"

namespace ckpt {
namespace {

constexpr uint64_t kHugeBytes = 4 << 20;  // contains a huge page at any address

// Rounds to few sizes, so that buffers can be reused: a sixteenth of a power of two apart.
uint64_t usual_size(uint64_t size_bytes) {
  const uint64_t step = std::bit_floor(std::max<uint64_t>(size_bytes, 1)) / 16;
  return round_up(std::max<uint64_t>(size_bytes, 1), std::max(step, kPageBytes));
}

}  // namespace

AlignedBuffer::~AlignedBuffer() {
  ::operator delete (memory_, std::align_val_t{kPageBytes});
  all_bytes_.fetch_sub(capacity_, std::memory_order_relaxed);
}

std::byte* AlignedBuffer::reserve(uint64_t size_bytes) {
  if (size_bytes <= capacity_ && memory_ != nullptr) return memory_;
  *this = AlignedBuffer();
  const uint64_t wanted = usual_size(size_bytes);
  memory_ = static_cast<std::byte*>(::operator new (wanted, std::align_val_t{kPageBytes}));
  capacity_ = wanted;
  all_bytes_.fetch_add(wanted, std::memory_order_relaxed);
  // Direct I/O looks up every page of its memory: a tenth of a copy's CPU time with small pages.
  // The system may ignore this advice.
  if (wanted >= kHugeBytes) (void)::madvise(memory_, wanted, MADV_HUGEPAGE);
  return memory_;
}

BufferPool& BufferPool::shared() {
  static BufferPool pool;
  return pool;
}

void BufferPool::begin_share(uint64_t limit_bytes) {
  const std::lock_guard lock(mutex_);
  ++shares_;
  shares_bytes_ += limit_bytes;
  shrink_to(this->limit_bytes());
}

void BufferPool::end_share(uint64_t limit_bytes) {
  const std::lock_guard lock(mutex_);
  --shares_;
  shares_bytes_ -= limit_bytes;
  shrink_to(this->limit_bytes());
}

AlignedBuffer BufferPool::remove(Sizes::iterator found) {
  AlignedBuffer out = std::move(*found->second);
  free_bytes_ -= found->first;
  free_.erase(found->second);
  sizes_.erase(found);
  return out;
}

// Frees unused buffers, as far as there are any.
void BufferPool::shrink_to(uint64_t all_bytes) {
  while (!free_.empty() && AlignedBuffer::all_bytes() > all_bytes) {
    (void)remove(sizes_.lower_bound(free_.front().capacity_bytes()));
  }
}

AlignedBuffer BufferPool::take(uint64_t size_bytes) {
  const uint64_t wanted = usual_size(size_bytes);
  {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.lower_bound(size_bytes);
    if (found != sizes_.end() && found->first <= wanted + wanted / 4) {
      return remove(std::prev(sizes_.upper_bound(found->first)));  // the most recently used one
    }
    shrink_to(limit_bytes() - std::min(limit_bytes(), wanted));
  }
  // Sized for this request, whatever is reserved later, so that it fits the next equal request.
  AlignedBuffer fresh;
  fresh.reserve(size_bytes);
  return fresh;
}

void BufferPool::give(AlignedBuffer buffer) {
  const uint64_t size_bytes = buffer.capacity_bytes();
  if (size_bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (AlignedBuffer::all_bytes() > limit_bytes()) return;
  free_bytes_ += size_bytes;
  sizes_.emplace(size_bytes, free_.insert(free_.end(), std::move(buffer)));
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
