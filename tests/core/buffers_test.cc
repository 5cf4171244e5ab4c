#include "core/io/buffers.h"

#include <gtest/gtest.h>

#include <vector>

namespace ckpt {
namespace {

TEST(BufferPool, AFewBytesNeverHoldALargeBuffer) {
  BufferPool pool;
  AlignedBuffer large = pool.take(8 << 20);
  large.reserve(8 << 20);
  pool.give(std::move(large));
  EXPECT_EQ(pool.free_bytes(), uint64_t{8} << 20);
  const Piece scale = make_piece(pool, 4, 4);
  EXPECT_EQ(scale.buffer.capacity_bytes(), kPageBytes);
  EXPECT_EQ(pool.free_bytes(), uint64_t{8} << 20);
  const Piece weight = make_piece(pool, 0, 7 << 20);
  EXPECT_EQ(weight.buffer.capacity_bytes(), uint64_t{8} << 20) << "what fits is used again";
  EXPECT_EQ(pool.free_bytes(), 0u);
}

TEST(BufferPool, KeepsNoMoreThanItMay) {
  BufferPool pool;
  std::vector<Piece> pieces;
  for (int i = 0; i < 20; ++i) pieces.push_back(make_piece(pool, 0, 16 << 20));
  for (Piece& piece : pieces) pool.give(std::move(piece.buffer));
  EXPECT_EQ(pool.free_bytes(), BufferPool::kMaxFreeBytes);
}

TEST(BufferPool, GivesWhatIsThereToWhomItFits) {
  BufferPool pool;
  for (const uint64_t size_bytes : {5u << 20, 1u << 20, 3u << 20}) {
    AlignedBuffer buffer;
    buffer.reserve(size_bytes);
    pool.give(std::move(buffer));
  }
  EXPECT_EQ(pool.take(2 << 20).capacity_bytes(), uint64_t{3} << 20);
  EXPECT_EQ(pool.take(6 << 20).capacity_bytes(), 0u);
}

}  // namespace
}  // namespace ckpt
