// Keeps bytes read from files for the next reader: tensors that are scanned before encoding, and
// sources of several outputs. Direct I/O bypasses the page cache, so without this cache a second
// reading would access the disk. Thread-safe.
//
// Blocks that are read twice in the same order are kept until the second reading. If there is no
// room, the next block is not kept, because it is needed last. All other blocks are replaced least
// recently used first.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "core/base/result.h"
#include "core/io/buffers.h"
#include "core/io/bytes.h"
#include "core/io/disk_cache.h"

namespace ckpt {

class BlockCache {
 public:
  enum class Use { kTwice, kOften };
  enum class Reading { kFirst, kLast };

  // Keeps blocks up to `capacity_bytes` in buffers of the pool. `disk`, which may be null, receives
  // blocks of remote sources that are read twice and do not fit.
  BlockCache(uint64_t capacity_bytes, Use use, BufferPool& pool, DiskCache* disk = nullptr)
      : capacity_bytes_(capacity_bytes), use_(use), pool_(pool), disk_(disk) {}

  // Does what ByteSource::fetch does, and calls it for missing blocks. Threads that request one
  // block at the same time read it once. `reading` is only used by kTwice.
  struct Range {
    uint64_t offset_bytes, size_bytes;
    Reading reading;
  };
  Result<std::span<const std::byte>> fetch(const ByteSource& source, const Range& range,
                                           AlignedBuffer& scratch);
  // The number of bytes read from sources so far.
  uint64_t read_bytes() const;

 private:
  using Key = std::pair<const ByteSource*, uint64_t>;  // source, index of the block
  struct Block {
    explicit Block(BufferPool& from) : pool(from) {}
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block() { pool.give(std::move(buffer)); }

    BufferPool& pool;
    AlignedBuffer buffer;
    std::span<const std::byte> bytes;
    uint64_t unread_bytes = 0;  // bytes that the last reading still needs
    bool ready = false;
    std::list<Key>::iterator used;
  };
  using SharedBlock = std::shared_ptr<Block>;

  Result<SharedBlock> block(const ByteSource& source, uint64_t number, bool is_kept);
  Status load(const ByteSource& source, uint64_t number, Block& block);
  bool bypasses_cache(const ByteSource& source, const Range& range, uint64_t& promised);
  bool take_from_disk(const ByteSource& source, const Range& range, std::span<std::byte> out);
  // Sets `is_whole` to false if a part is not in the cache.
  Status copy(const ByteSource& source, const Range& range, std::byte* out, bool is_kept,
              bool& is_whole);
  void was_read(const Key& key, uint64_t bytes);
  void forget(const Key& key);
  void evict(uint64_t room_bytes);

  const uint64_t capacity_bytes_;
  const Use use_;
  BufferPool& pool_;
  DiskCache* const disk_;
  mutable std::mutex mutex_;
  std::condition_variable loaded_;
  std::map<Key, SharedBlock> blocks_;
  std::list<Key> by_use_;        // latest first; only loaded blocks
  uint64_t kept_bytes_ = 0;      // of blocks, loaded or not
  uint64_t promised_bytes_ = 0;  // of ranges being read for the first time
  uint64_t read_bytes_ = 0;
};

}  // namespace ckpt
