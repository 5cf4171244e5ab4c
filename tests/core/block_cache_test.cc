// The cache reads, keeps and forgets blocks.
#include "core/io/block_cache.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

using Reading = BlockCache::Reading;
using Use = BlockCache::Use;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSourceBytes = 16 * kMiB;

std::byte cached_byte_at(uint64_t offset) { return static_cast<std::byte>(offset >> 12); }

class PatternSource final : public ByteSource {
 public:
  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    for (size_t i = 0; i < out.size(); ++i) out[i] = cached_byte_at(offset_bytes + i);
    return {};
  }
  uint64_t size_bytes() const override { return kSourceBytes; }
  const std::string& name() const override { return name_; }

 private:
  std::string name_ = "made";
};

// Reads all of the source but its first bytes, in ranges that are not whole blocks.
void read_all(BlockCache& cache, const ByteSource& source, Reading reading) {
  constexpr uint64_t kFirst = 1000;
  AlignedBuffer scratch;
  for (uint64_t at = kFirst; at < kSourceBytes; at += kMiB) {
    const uint64_t size = std::min(kMiB, kSourceBytes - at);
    const auto bytes = cache.fetch(source, {at, size, reading}, scratch);
    ASSERT_TRUE(bytes) << bytes.error().text();
    ASSERT_EQ(bytes->size(), size);
    for (uint64_t i = 0; i < size; i += 997) ASSERT_EQ((*bytes)[i], cached_byte_at(at + i));
  }
}

TEST(BlockCache, ReadsSharedBlocksOnceAndThenDropsThem) {
  const PatternSource source;
  BufferPool pool;
  BlockCache cache(2 * kSourceBytes, Use::kTwice, pool);
  read_all(cache, source, Reading::kFirst);
  EXPECT_EQ(cache.read_bytes(), kSourceBytes);
  read_all(cache, source, Reading::kLast);
  EXPECT_EQ(cache.read_bytes(), kSourceBytes);
  read_all(cache, source, Reading::kLast);
  EXPECT_GT(cache.read_bytes(), 2 * kSourceBytes - 4 * kMiB);
}

// The longest unused would be what is needed next: then nothing would be found of a tensor that is
// larger than the cache.
TEST(BlockCache, OfATensorThatIsTooLargeItsFirstPartIsKept) {
  const PatternSource source;
  constexpr uint64_t kCapacity = 8 * kMiB;
  BufferPool pool;
  BlockCache cache(kCapacity, Use::kTwice, pool);
  read_all(cache, source, Reading::kFirst);
  read_all(cache, source, Reading::kLast);
  EXPECT_LE(cache.read_bytes(), 2 * kSourceBytes - kCapacity + 4 * kMiB);
}

TEST(BlockCache, RangesThatShareBlocksKeepNoMoreThanItHolds) {
  const PatternSource source;
  BufferPool pool(0);
  BlockCache cache(4 * kMiB, Use::kTwice, pool);
  const uint64_t before = AlignedBuffer::all_bytes();
  read_all(cache, source, Reading::kFirst);
  EXPECT_LE(AlignedBuffer::all_bytes() - before, 7 * kMiB);
}

TEST(BlockCache, EndsOfTensorsMakeRoomForTheNext) {
  const PatternSource source;
  BufferPool pool;
  BlockCache cache(4 * kMiB, Use::kTwice, pool);
  AlignedBuffer scratch;
  for (uint64_t at = kMiB / 2; at + kMiB < kSourceBytes; at += 4 * kMiB) {
    for (const Reading reading : {Reading::kFirst, Reading::kLast}) {
      ASSERT_TRUE(cache.fetch(source, {at, kMiB, reading}, scratch));
    }
  }
  EXPECT_EQ(cache.read_bytes(), kSourceBytes / (4 * kMiB) * 2 * kMiB);  // a block each
}

TEST(BlockCache, KeepsBlocksThatAreReadOften) {
  const PatternSource source;
  BufferPool pool;
  BlockCache cache(2 * kSourceBytes, Use::kOften, pool);
  for (int i = 0; i < 3; ++i) read_all(cache, source, Reading::kLast);
  EXPECT_EQ(cache.read_bytes(), kSourceBytes);
}

}  // namespace
}  // namespace ckpt
