#include "core/io/buffers.h"

#include <gtest/gtest.h>

#include <vector>

namespace ckpt {
namespace {

// A limit applies to all buffers of the process: those that other tests left in the shared pool go.
class BufferPools : public testing::Test {
 protected:
  BufferPools() {
    BufferPool::shared().begin_share(0);
    BufferPool::shared().end_share(0);
  }
};

TEST_F(BufferPools, AFewBytesNeverHoldALargeBuffer) {
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

TEST_F(BufferPools, KeepsNoMoreThanItMay) {
  BufferPool pool;
  std::vector<Piece> pieces;
  for (int i = 0; i < 20; ++i) pieces.push_back(make_piece(pool, 0, 16 << 20));
  for (Piece& piece : pieces) pool.give(std::move(piece.buffer));
  EXPECT_EQ(pool.free_bytes(), BufferPool::kUsualBytes);
}

TEST_F(BufferPools, LimitsOfRunsAtTheSameTimeAddUp) {
  constexpr uint64_t kShareBytes = 8 << 20;
  BufferPool pool(0);
  pool.begin_share(kShareBytes);
  pool.begin_share(kShareBytes);
  std::vector<AlignedBuffer> buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(pool.take(kShareBytes));
  for (AlignedBuffer& buffer : buffers) pool.give(std::move(buffer));
  EXPECT_EQ(pool.free_bytes(), 2 * kShareBytes);
  pool.end_share(kShareBytes);
  EXPECT_EQ(pool.free_bytes(), kShareBytes);
  pool.end_share(kShareBytes);
  EXPECT_EQ(pool.free_bytes(), 0u);
}

TEST_F(BufferPools, ARunWithoutRoomKeepsNoFreeBuffers) {
  BufferPool pool;
  pool.begin_share(0);
  pool.give(pool.take(1 << 20));
  EXPECT_EQ(pool.free_bytes(), 0u);
  pool.end_share(0);
}

TEST_F(BufferPools, ReusesBuffersThatFit) {
  BufferPool pool;
  for (const uint64_t size_bytes : {5u << 20, 1u << 20, 9u << 18}) {
    AlignedBuffer buffer;
    buffer.reserve(size_bytes);
    pool.give(std::move(buffer));
  }
  EXPECT_EQ(pool.take(2 << 20).capacity_bytes(), uint64_t{9} << 18);
  EXPECT_EQ(pool.take(6 << 20).capacity_bytes(), uint64_t{6} << 20) << "a new one";
  EXPECT_EQ(pool.free_bytes(), uint64_t{6} << 20) << "the others stay";
}

// Who takes a buffer may need less of it than was asked for, as direct reads do.
TEST_F(BufferPools, WhatWasTakenFitsTheNextWhoAsksForAsMuch) {
  BufferPool pool;
  for (int i = 0; i < 3; ++i) {
    AlignedBuffer buffer = pool.take((2 << 20) + 2 * kPageBytes);
    buffer.reserve(2 << 20);
    EXPECT_EQ(pool.free_bytes(), 0u);
    pool.give(std::move(buffer));
  }
  EXPECT_LE(pool.free_bytes(), uint64_t{9} << 18);
}

TEST_F(BufferPools, TheLongestUnusedGoesFirst) {
  BufferPool pool(12 << 20);
  for (const uint64_t size_bytes : {4u << 20, 5u << 20, 2u << 20}) pool.give(pool.take(size_bytes));
  pool.give(pool.take(3 << 20));
  EXPECT_EQ(pool.free_bytes(), uint64_t{10} << 20) << "the one of 4 MiB has gone";
}

}  // namespace
}  // namespace ckpt
