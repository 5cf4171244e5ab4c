// Computes the product of core/model/low_rank.h, a few rows by a few vectors at a time.
//
//   a tile of `right`: rank x kTile columns, packed so that it stays in the cache
//   kRows rows x kVectors vectors of sums in registers;  for each k: sums += b[i][k] · a[k]
//
// Note: only this kernel uses fused multiply-adds, because its scalar twin does too. Targets
// without them (SSE4) run the twin.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/quantizers.h"

#ifndef CKPT_LOW_RANK_SCALAR
#define CKPT_LOW_RANK_SCALAR
namespace ckpt {
namespace {

void low_rank_product_scalar(const LowRank& factors, FloatRows out) {
  const uint64_t columns = out.row_values, rank = factors.rank;
  for (uint64_t i = 0; i < out.rows(); ++i) {
    float* const row = out.values.data() + i * columns;
    std::fill_n(row, columns, 0.0f);
    for (uint64_t k = 0; k < rank; ++k) {
      const float b = factors.left[i * rank + k];
      const float* const a = factors.right.data() + k * columns;
      for (uint64_t j = 0; j < columns; ++j) row[j] = std::fma(b, a[j], row[j]);
    }
    for (uint64_t j = 0; j < columns; ++j) row[j] *= factors.scale;
  }
}

}  // namespace
}  // namespace ckpt
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/plain/low_rank_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

#if HWY_NATIVE_FMA

constexpr size_t kRows = 6;
constexpr size_t kVectors = HWY_TARGET == HWY_AVX2 ? 2 : 4;  // to fit 16 or 32 registers
constexpr size_t kTile = kVectors * kLanes;

// Multiplies some rows by a tile: `out` is kCount rows, `stride` apart.
template <size_t kCount>
HWY_INLINE void multiply_tile(const float* left, const float* tile, const LowRank& factors,
                              float* out, size_t stride) {
  Float sums[kCount][kVectors];
  for (size_t i = 0; i < kCount; ++i) {
    for (size_t v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(kF);
  }
  for (size_t k = 0; k < factors.rank; ++k) {
    Float a[kVectors];
    for (size_t v = 0; v < kVectors; ++v) a[v] = hn::Load(kF, tile + k * kTile + v * kLanes);
    for (size_t i = 0; i < kCount; ++i) {
      const Float b = splat(left[i * factors.rank + k]);
      for (size_t v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(b, a[v], sums[i][v]);
    }
  }
  const Float scale = splat(factors.scale);
  for (size_t i = 0; i < kCount; ++i) {
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::Mul(sums[i][v], scale), kF, out + i * stride + v * kLanes);
    }
  }
}

// Computes `width` columns of one or kRows rows. Columns beyond the tensor are discarded.
template <size_t kCount>
HWY_INLINE void multiply_rows(const float* left, const float* tile, const LowRank& factors,
                              float* out, std::pair<size_t, size_t> width_and_stride) {
  const auto [width, stride] = width_and_stride;
  if (width == kTile) return multiply_tile<kCount>(left, tile, factors, out, stride);
  alignas(64) float whole[kCount * kTile];
  multiply_tile<kCount>(left, tile, factors, whole, kTile);
  for (size_t i = 0; i < kCount; ++i) std::copy_n(whole + i * kTile, width, out + i * stride);
}

#endif  // HWY_NATIVE_FMA

}  // namespace

void low_rank(const LowRank& factors, FloatRows out) {
#if HWY_NATIVE_FMA
  const size_t columns = out.row_values, rows = out.rows(), rank = factors.rank;
  std::vector<float> memory(rank * kTile + kLanes);
  float* const tile = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) /
                                          sizeof(float) % kLanes;
  for (size_t column = 0; column < columns; column += kTile) {
    const size_t width = std::min(kTile, columns - column);
    for (size_t k = 0; k < rank; ++k) {
      std::copy_n(factors.right.data() + k * columns + column, width, tile + k * kTile);
      std::fill_n(tile + k * kTile + width, kTile - width, 0.0f);
    }
    size_t row = 0;
    const auto next = [&](size_t count) {
      const size_t at = row;
      row += count;
      return std::pair{factors.left.data() + at * rank, out.values.data() + at * columns + column};
    };
    while (row + kRows <= rows) {
      const auto [left, to] = next(kRows);
      multiply_rows<kRows>(left, tile, factors, to, {width, columns});
    }
    while (row < rows) {
      const auto [left, to] = next(1);
      multiply_rows<1>(left, tile, factors, to, {width, columns});
    }
  }
#else
  low_rank_product_scalar(factors, out);
#endif
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_FUNCTION(void, low_rank_product, low_rank, (const LowRank& factors, FloatRows out),
                   (factors, out))

}  // namespace ckpt
#endif  // HWY_ONCE
