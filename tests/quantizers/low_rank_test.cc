// The product of core/model/low_rank.h: its order, and the same bytes on every target.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

struct LowRankCase {
  uint64_t rows, rank, columns;
};

std::vector<float> product_of(const LowRankCase& size, SimdTarget target, float spread) {
  const ForcedSimdTarget forced(target);
  std::mt19937 random(static_cast<uint32_t>(size.rows * 1000 + size.rank));
  std::normal_distribution<float> values(0, spread);
  std::vector<float> left(size.rows * size.rank), right(size.rank * size.columns);
  for (float& value : left) value = values(random);
  for (float& value : right) value = values(random);
  std::vector<float> out(size.rows * size.columns, 7.0f);
  low_rank_product({left, right, size.rank, 0.37f}, {out, size.columns});
  return out;
}

TEST(LowRank, EveryTargetGivesTheBytesOfTheScalarTwin) {
  constexpr LowRankCase kCases[] = {{1, 1, 1},   {1, 3, 64},    {6, 8, 64},   {7, 16, 65},
                                    {13, 5, 31}, {12, 64, 130}, {5, 300, 97}, {25, 2, 257}};
  for (const LowRankCase& size : kCases) {
    for (const float spread : {1.0f, 1e-20f, 1e18f}) {
      const std::vector<float> expected = product_of(size, SimdTarget::kScalar, spread);
      for (const SimdTarget target : simd_targets()) {
        const std::vector<float> found = product_of(size, target, spread);
        EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0)
            << simd_target_name(target) << " " << size.rows << "x" << size.rank << "x"
            << size.columns;
      }
    }
  }
}

// (1 + 2^-12)² - 1: the product alone would lose its last bit.
TEST(LowRank, AddsProductsWithoutRoundingThemFirst) {
  const float x = 1 + std::ldexp(1.0f, -12);
  const std::vector<float> left = {-1, x}, right = {1, x};
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    float out = 0;
    low_rank_product({left, right, 2, 1}, {std::span(&out, 1), 1});
    EXPECT_EQ(out, std::ldexp(1.0f, -11) + std::ldexp(1.0f, -24)) << simd_target_name(target);
  }
}

// 2^24 + 1 + 1: ascending, each 1 is lost; descending, both would count.
TEST(LowRank, AddsInAscendingOrder) {
  const float big = std::ldexp(1.0f, 24);
  const std::vector<float> left = {big, 1, 1}, right = {1, 1, 1};
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    float out = 0;
    low_rank_product({left, right, 3, 1}, {std::span(&out, 1), 1});
    EXPECT_EQ(out, big) << simd_target_name(target);
  }
}

}  // namespace
}  // namespace ckpt
