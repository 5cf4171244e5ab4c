#include "core/io/block_cache.h"

#include <algorithm>
#include <cstring>

#include "core/io/remote_files.h"

namespace ckpt {
namespace {

// Large enough for a disk, but small enough that few ends of chunks share a block.
constexpr uint64_t kBlockBytes = 2 << 20;

}  // namespace

Status BlockCache::load(const ByteSource& source, uint64_t number, Block& block) {
  const uint64_t first = number * kBlockBytes;
  const uint64_t size = std::min(kBlockBytes, source.size_bytes() - first);
  block.buffer = pool_.take(size + 2 * kPageBytes);
  CKPT_ASSIGN(block.bytes, source.fetch(first, size, block.buffer));
  block.unread_bytes = size;
  return {};
}

// Removes a block from the cache. Readers that still hold it keep it alive.
void BlockCache::forget(const Key& key) {
  const auto found = blocks_.find(key);
  kept_bytes_ -= found->second->bytes.size();
  by_use_.erase(found->second->used);
  blocks_.erase(found);
}

// Makes room for this many bytes if possible. Blocks at the ends of tensors, which are read twice,
// go first, because they also contain bytes that nobody reads.
void BlockCache::evict(uint64_t room_bytes) {
  auto oldest = by_use_.end();
  while (kept_bytes_ + room_bytes > capacity_bytes_ && oldest != by_use_.begin()) {
    const Key key = *--oldest;
    const Block& block = *blocks_.at(key);
    if (use_ == Use::kTwice && block.unread_bytes == block.bytes.size()) continue;
    ++oldest;
    forget(key);
  }
}

// Notes bytes of a block that will not be read again.
void BlockCache::was_read(const Key& key, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(key);
  if (found == blocks_.end() || !found->second->ready) return;
  found->second->unread_bytes -= std::min(bytes, found->second->unread_bytes);
  if (found->second->unread_bytes == 0) forget(key);
}

// Whether a range that is read twice has no part in the cache and gets none; otherwise `promised`
// is the room reserved until it has been read.
bool BlockCache::bypasses_cache(const ByteSource& source, const Range& range, uint64_t& promised) {
  if (use_ != Use::kTwice) return false;
  const std::lock_guard lock(mutex_);
  if (range.reading == Reading::kFirst) {
    evict(promised_bytes_ + range.size_bytes);
    if (kept_bytes_ + promised_bytes_ + range.size_bytes <= capacity_bytes_) {
      promised = range.size_bytes;
      promised_bytes_ += promised;
      return false;
    }
  }
  const Key first{&source, range.offset_bytes / kBlockBytes};
  const Key last{&source, (range.offset_bytes + range.size_bytes - 1) / kBlockBytes};
  const auto found = blocks_.lower_bound(first);
  if (found != blocks_.end() && found->first <= last) return false;
  read_bytes_ += range.size_bytes;
  return true;
}

// Returns null if the block is not cached and has no reserved room.
Result<BlockCache::SharedBlock> BlockCache::block(const ByteSource& source, uint64_t number,
                                                  bool is_kept) {
  const Key key{&source, number};
  std::unique_lock lock(mutex_);
  for (auto found = blocks_.find(key); found != blocks_.end(); found = blocks_.find(key)) {
    const SharedBlock held = found->second;
    if (held->ready) {
      by_use_.splice(by_use_.begin(), by_use_, held->used);
      return held;
    }
    loaded_.wait(lock);  // another thread loads it; if that fails, it is missing
  }
  if (!is_kept) return SharedBlock();
  const SharedBlock fresh = std::make_shared<Block>(pool_);
  blocks_.emplace(key, fresh);
  const uint64_t size_bytes = std::min(kBlockBytes, source.size_bytes() - number * kBlockBytes);
  kept_bytes_ += size_bytes;
  if (use_ == Use::kOften) evict(0);
  lock.unlock();
  Status status = load(source, number, *fresh);
  lock.lock();
  loaded_.notify_all();
  if (!status) {
    kept_bytes_ -= size_bytes;
    blocks_.erase(key);
    return Failure(std::move(status.error()));
  }
  by_use_.push_front(key);
  fresh->used = by_use_.begin();
  fresh->ready = true;
  read_bytes_ += size_bytes;
  return fresh;
}

Result<std::span<const std::byte>> BlockCache::fetch(const ByteSource& source, const Range& range,
                                                     AlignedBuffer& scratch) {
  const uint64_t offset = range.offset_bytes, size = range.size_bytes;
  uint64_t promised = 0;
  const bool inside = offset <= source.size_bytes() && size <= source.size_bytes() - offset;
  if (!inside || size == 0 || !source.memory().empty()) return source.fetch(offset, size, scratch);
  const bool has_disk = disk_ != nullptr && use_ == Use::kTwice && is_url(source.name());
  if (has_disk && range.reading == Reading::kLast) {
    const std::span<std::byte> out(scratch.reserve(size), size);
    if (take_from_disk(source, range, out)) return out;
  }
  const bool is_kept_on_disk = has_disk && range.reading == Reading::kFirst;
  if (bypasses_cache(source, range, promised)) {
    CKPT_ASSIGN(const auto bytes, source.fetch(offset, size, scratch));
    if (is_kept_on_disk) disk_->keep(source, offset, bytes);
    return bytes;
  }
  bool is_whole = true;
  const Status status =
      copy(source, range, scratch.reserve(size), use_ == Use::kOften || promised > 0, is_whole);
  if (promised > 0) {
    const std::lock_guard lock(mutex_);
    promised_bytes_ -= promised;
  }
  CKPT_TRY(status);
  const std::span<const std::byte> bytes(scratch.reserve(size), size);
  if (is_kept_on_disk && !is_whole) disk_->keep(source, offset, bytes);
  return bytes;
}

// Blocks in memory that the range shares with its neighbors also count as read.
bool BlockCache::take_from_disk(const ByteSource& source, const Range& range,
                                std::span<std::byte> out) {
  if (!disk_->take(source, range.offset_bytes, out)) return false;
  for (uint64_t done = 0; done < range.size_bytes;) {
    const uint64_t at = range.offset_bytes + done;
    const uint64_t count = std::min(kBlockBytes - at % kBlockBytes, range.size_bytes - done);
    was_read({&source, at / kBlockBytes}, count);
    done += count;
  }
  return true;
}

// Adjacent ranges share blocks, so a range without room is read separately; otherwise one range
// would load the next one's blocks.
Status BlockCache::copy(const ByteSource& source, const Range& range, std::byte* out, bool is_kept,
                        bool& is_whole) {
  for (uint64_t done = 0; done < range.size_bytes;) {
    const uint64_t at = range.offset_bytes + done, skipped = at % kBlockBytes;
    const uint64_t count = std::min(kBlockBytes - skipped, range.size_bytes - done);
    CKPT_ASSIGN(const SharedBlock held, block(source, at / kBlockBytes, is_kept));
    if (held == nullptr) {
      is_whole = false;
      CKPT_TRY(source.read(at, {out + done, count}));
      const std::lock_guard lock(mutex_);
      read_bytes_ += count;
    } else {
      std::memcpy(out + done, held->bytes.data() + skipped, count);
      if (use_ == Use::kTwice && range.reading == Reading::kLast) {
        was_read({&source, at / kBlockBytes}, count);
      }
    }
    done += count;
  }
  return {};
}

uint64_t BlockCache::read_bytes() const {
  const std::lock_guard lock(mutex_);
  return read_bytes_;
}

}  // namespace ckpt
