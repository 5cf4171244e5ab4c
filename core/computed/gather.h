// Reads byte ranges of a stored part, whatever its slices are: one run of a file, thousands of
// single rows in another order, or memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/io/block_cache.h"
#include "core/io/buffers.h"
#include "core/io/bytes.h"

namespace ckpt {

// The slices of a part with their start positions. Immutable, so threads can share it.
class SliceIndex {
 public:
  explicit SliceIndex(const std::vector<Slice>& slices);
  uint64_t size_bytes() const { return starts_.empty() ? 0 : starts_.back(); }

  struct Piece {
    const ByteSource* source;
    uint64_t offset_bytes;  // in the source
    uint64_t size_bytes;
    uint64_t target_bytes;  // destination, from the start of the range
  };
  // The pieces of bytes [first, first + size). Requires: the range is inside the part.
  std::vector<Piece> pieces(uint64_t first, uint64_t size) const;

 private:
  const std::vector<Slice>& slices_;
  std::vector<uint64_t> starts_;  // starts_[i] = bytes before slice i; one more entry at the end
};

// The memory of gather(), for one thread and part.
struct GatherBuffers {
  BlockCache* cache = nullptr;  // cache to read through; may be null
  BlockCache::Reading reading = BlockCache::Reading::kFirst;
  BufferPool* pool = nullptr;  // source of memory; null: the system
  AlignedBuffer raw;           // bytes as read
  AlignedBuffer ordered;       // pieces in order

  GatherBuffers() = default;
  explicit GatherBuffers(BufferPool& from) : pool(&from) {}
  GatherBuffers(GatherBuffers&&) noexcept = default;
  GatherBuffers& operator=(GatherBuffers&&) noexcept = default;
  ~GatherBuffers() { give_back(); }
  void give_back();  // to the pool, if there is one
};

// Returns bytes [first, first + size). The result is in `buffers` or in the source's own memory,
// and valid until the next call with these buffers. Fails as ByteSource::read does.
Result<std::span<const std::byte>> gather(const SliceIndex& index, uint64_t first, uint64_t size,
                                          GatherBuffers& buffers);
// The memory that gather() needs, in the buffers and while reading; 0 for bytes in memory.
uint64_t gather_bytes(const SliceIndex& index, uint64_t first, uint64_t size);
// Reads into the caller's memory. Requires: the part has out.size() bytes from `first` on.
Status gather_into(const SliceIndex& index, uint64_t first, std::span<std::byte> out,
                   GatherBuffers& buffers);
uint64_t gather_into_bytes(const SliceIndex& index, uint64_t first, uint64_t size, bool is_cached);

}  // namespace ckpt
