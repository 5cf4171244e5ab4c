#include "core/computed/gather.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace ckpt {
namespace {

// Two pieces of a source that are at most this far apart are read together, because a seek costs
// more than reading the bytes in between.
constexpr uint64_t kMaxGapBytes = 64 << 10;
// A longer run does not justify one buffer.
constexpr uint64_t kMaxRunBytes = 32 << 20;

using Pieces = std::vector<SliceIndex::Piece>;

// The end of the run that begins at `first`: nearby pieces of one source, in file order.
size_t run_end(const Pieces& pieces, size_t first) {
  const SliceIndex::Piece& head = pieces[first];
  uint64_t end_bytes = head.offset_bytes + head.size_bytes;
  size_t next = first + 1;
  for (; next < pieces.size(); ++next) {
    const SliceIndex::Piece& piece = pieces[next];
    if (piece.source != head.source || piece.offset_bytes > end_bytes + kMaxGapBytes) break;
    const uint64_t longer = std::max(end_bytes, piece.offset_bytes + piece.size_bytes);
    if (longer - head.offset_bytes > kMaxRunBytes) break;
    end_bytes = longer;
  }
  return next;
}

// The bytes from the first to the last of pieces [first, end).
uint64_t run_bytes(const Pieces& pieces, size_t first, size_t end) {
  uint64_t out = 0;
  for (size_t i = first; i < end; ++i) {
    const uint64_t piece_end = pieces[i].offset_bytes + pieces[i].size_bytes;
    out = std::max(out, piece_end - pieces[first].offset_bytes);
  }
  return out;
}

void sort_by_place(Pieces& pieces) {
  std::ranges::sort(pieces, [](const auto& a, const auto& b) {
    return std::tie(a.source, a.offset_bytes) < std::tie(b.source, b.offset_bytes);
  });
}

// Reserves room in advance from the pool, so that the next reservation fits.
void make_room(AlignedBuffer& buffer, uint64_t size_bytes, BufferPool* pool) {
  if (pool == nullptr || buffer.capacity_bytes() >= size_bytes) return;
  pool->give(std::move(buffer));
  buffer = pool->take(size_bytes);
}

// Whether a run is one piece that the source can read directly to its destination.
bool is_read_in_place(const Pieces& pieces, size_t first, size_t end, bool is_cached) {
  const ByteSource& source = *pieces[first].source;
  return end == first + 1 && !is_cached && source.memory().empty() && source.reads_in_place();
}

uint64_t fetch_bytes(const ByteSource& source, uint64_t size_bytes) {
  return source.memory().empty() ? size_bytes + source.scratch_bytes(size_bytes) : 0;
}

Result<std::span<const std::byte>> fetch(const ByteSource& source, uint64_t offset_bytes,
                                         uint64_t size_bytes, GatherBuffers& buffers) {
  // Direct reads begin and end at page boundaries.
  if (source.memory().empty()) make_room(buffers.raw, size_bytes + 2 * kPageBytes, buffers.pool);
  if (buffers.cache == nullptr) return source.fetch(offset_bytes, size_bytes, buffers.raw);
  return buffers.cache->fetch(source, {offset_bytes, size_bytes, buffers.reading}, buffers.raw);
}

Status read_runs(Pieces pieces, std::byte* out, GatherBuffers& buffers) {
  sort_by_place(pieces);
  for (size_t first = 0; first < pieces.size();) {
    const size_t end = run_end(pieces, first);
    const SliceIndex::Piece& head = pieces[first];
    const uint64_t size_bytes = run_bytes(pieces, first, end);
    if (is_read_in_place(pieces, first, end, buffers.cache != nullptr)) {
      CKPT_TRY(head.source->read(head.offset_bytes, {out + head.target_bytes, size_bytes}));
      first = end;
      continue;
    }
    CKPT_ASSIGN(const auto run, fetch(*head.source, head.offset_bytes, size_bytes, buffers));
    for (size_t i = first; i < end; ++i) {
      const auto& piece = pieces[i];
      std::memcpy(out + piece.target_bytes, run.data() + (piece.offset_bytes - head.offset_bytes),
                  piece.size_bytes);
    }
    first = end;
  }
  return {};
}

uint64_t largest_fetch(Pieces pieces, bool is_cached) {
  sort_by_place(pieces);
  uint64_t largest = 0;
  for (size_t first = 0; first < pieces.size();) {
    const size_t end = run_end(pieces, first);
    const ByteSource& source = *pieces[first].source;
    const uint64_t size_bytes = run_bytes(pieces, first, end);
    const bool is_in_place = is_read_in_place(pieces, first, end, is_cached);
    largest = std::max(largest, is_in_place ? source.scratch_bytes(size_bytes)
                                            : fetch_bytes(source, size_bytes));
    first = end;
  }
  return largest;
}

}  // namespace

void GatherBuffers::give_back() {
  if (pool == nullptr) return;
  pool->give(std::move(raw));
  pool->give(std::move(ordered));
}

SliceIndex::SliceIndex(const std::vector<Slice>& slices) : slices_(slices) {
  starts_.reserve(slices.size() + 1);
  uint64_t start = 0;
  for (const Slice& slice : slices) {
    starts_.push_back(start);
    start += slice.size_bytes;
  }
  starts_.push_back(start);
}

Pieces SliceIndex::pieces(uint64_t first, uint64_t size) const {
  CKPT_CHECK(first <= size_bytes() && size <= size_bytes() - first);
  Pieces out;
  if (size == 0) return out;
  auto slice = static_cast<size_t>(std::ranges::upper_bound(starts_, first) - starts_.begin() - 1);
  for (uint64_t done = 0; done < size; ++slice) {
    const uint64_t skip = first + done - starts_[slice];
    const uint64_t here = std::min(size - done, slices_[slice].size_bytes - skip);
    if (here == 0) continue;
    out.push_back({slices_[slice].source.get(), slices_[slice].offset_bytes + skip, here, done});
    done += here;
  }
  return out;
}

Result<std::span<const std::byte>> gather(const SliceIndex& index, uint64_t first, uint64_t size,
                                          GatherBuffers& buffers) {
  const Pieces pieces = index.pieces(first, size);
  if (pieces.size() == 1) {
    return fetch(*pieces[0].source, pieces[0].offset_bytes, size, buffers);
  }
  make_room(buffers.ordered, size, buffers.pool);
  std::byte* out = buffers.ordered.reserve(size);
  CKPT_TRY(read_runs(pieces, out, buffers));
  return std::span<const std::byte>(out, size);
}

uint64_t gather_bytes(const SliceIndex& index, uint64_t first, uint64_t size) {
  const Pieces pieces = index.pieces(first, size);
  return largest_fetch(pieces, true) + (pieces.size() == 1 ? 0 : size);
}

uint64_t gather_into_bytes(const SliceIndex& index, uint64_t first, uint64_t size,
                           bool is_cached) {
  return largest_fetch(index.pieces(first, size), is_cached);
}

Status gather_into(const SliceIndex& index, uint64_t first, std::span<std::byte> out,
                   GatherBuffers& buffers) {
  return read_runs(index.pieces(first, out.size()), out.data(), buffers);
}

}  // namespace ckpt
