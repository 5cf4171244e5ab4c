#include "core/io/block_cache.h"

#include <algorithm>
#include <cstring>

namespace ckpt {
namespace {

// Large enough for a disk, small enough that the ends of chunks share few.
constexpr uint64_t kBlockBytes = 2 << 20;

}  // namespace

Status BlockCache::load(const ByteSource& source, uint64_t number, Block& block) {
  const uint64_t first = number * kBlockBytes;
  const uint64_t size = std::min(kBlockBytes, source.size_bytes() - first);
  CKPT_ASSIGN(block.bytes, source.fetch(first, size, block.buffer));
  return {};
}

void BlockCache::evict() {
  while (kept_bytes_ > capacity_bytes_ && !by_use_.empty()) {
    const auto oldest = blocks_.find(by_use_.back());
    kept_bytes_ -= oldest->second->bytes.size();
    blocks_.erase(oldest);  // readers that still hold it keep it alive
    by_use_.pop_back();
  }
}

Result<BlockCache::SharedBlock> BlockCache::block(const ByteSource& source, uint64_t number) {
  const Key key{&source, number};
  std::unique_lock lock(mutex_);
  for (auto found = blocks_.find(key); found != blocks_.end(); found = blocks_.find(key)) {
    const SharedBlock held = found->second;
    if (held->ready) {
      by_use_.splice(by_use_.begin(), by_use_, held->used);
      return held;
    }
    loaded_.wait(lock);  // another thread is at it; gone afterwards if that failed
  }
  const SharedBlock fresh = std::make_shared<Block>();
  blocks_.emplace(key, fresh);
  lock.unlock();
  Status status = load(source, number, *fresh);
  lock.lock();
  loaded_.notify_all();
  if (!status) {
    blocks_.erase(key);
    return Failure(std::move(status.error()));
  }
  by_use_.push_front(key);
  fresh->used = by_use_.begin();
  fresh->ready = true;
  kept_bytes_ += fresh->bytes.size();
  read_bytes_ += fresh->bytes.size();
  evict();
  return fresh;
}

Result<std::span<const std::byte>> BlockCache::fetch(const ByteSource& source,
                                                     uint64_t offset_bytes, uint64_t size_bytes,
                                                     AlignedBuffer& scratch) {
  const bool inside =
      offset_bytes <= source.size_bytes() && size_bytes <= source.size_bytes() - offset_bytes;
  if (!inside || size_bytes == 0 || !source.memory().empty()) {
    return source.fetch(offset_bytes, size_bytes, scratch);
  }
  std::byte* out = scratch.reserve(size_bytes);
  for (uint64_t done = 0; done < size_bytes;) {
    const uint64_t at = offset_bytes + done;
    CKPT_ASSIGN(const SharedBlock held, block(source, at / kBlockBytes));
    const auto here = held->bytes.subspan(at % kBlockBytes);
    const uint64_t count = std::min<uint64_t>(here.size(), size_bytes - done);
    std::memcpy(out + done, here.data(), count);
    done += count;
  }
  return std::span<const std::byte>(out, size_bytes);
}

uint64_t BlockCache::read_bytes() const {
  const std::lock_guard lock(mutex_);
  return read_bytes_;
}

}  // namespace ckpt
