// Keeps what was read of files for the next reader: tensors that are scanned before they are
// encoded, and sources that several outputs are made from. Direct I/O leaves nothing in the page
// cache, so without it a second reading would go to the disk. Thread-safe.
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

namespace ckpt {

class BlockCache {
 public:
  // Blocks of files are kept up to `capacity_bytes`, the longest unused going first.
  explicit BlockCache(uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  // As ByteSource::fetch, which it calls for what it does not hold. Threads that want one block at
  // the same time read it once.
  Result<std::span<const std::byte>> fetch(const ByteSource& source, uint64_t offset_bytes,
                                           uint64_t size_bytes, AlignedBuffer& scratch);
  // Read from sources so far.
  uint64_t read_bytes() const;

 private:
  using Key = std::pair<const ByteSource*, uint64_t>;  // source, number of the block
  struct Block {
    AlignedBuffer buffer;
    std::span<const std::byte> bytes;
    bool ready = false;
    std::list<Key>::iterator used;
  };
  using SharedBlock = std::shared_ptr<Block>;

  Result<SharedBlock> block(const ByteSource& source, uint64_t number);
  Status load(const ByteSource& source, uint64_t number, Block& block);
  void evict();

  const uint64_t capacity_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable loaded_;
  std::map<Key, SharedBlock> blocks_;
  std::list<Key> by_use_;  // latest first; ready blocks only
  uint64_t kept_bytes_ = 0;
  uint64_t read_bytes_ = 0;
};

}  // namespace ckpt
