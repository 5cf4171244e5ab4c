// Turns rows into lanes: kernels that sum hold one run of values in each lane.
//
//   memory   row r: x[r][0] x[r][1] ... x[r][count-1]     r = 0..lanes-1, rows back to back
//   out      vector e: lane r = x[r][e]                   e = 0..count-1
//
// What a reader would get wrong: lanes stay in the order of the rows, because the first of equal
// maxima must win. Included once for each target by *_simd.cc files only.
#if defined(CKPT_SIMD_TRANSPOSE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_TRANSPOSE_H
#undef CKPT_SIMD_TRANSPOSE_H
#else
#define CKPT_SIMD_TRANSPOSE_H
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The four floats at from, from + 4 stride, from + 8 stride, ... as blocks of 128 bits.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, size_t stride) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const size_t upper = hn::MaxLanes(half) * stride;
    return hn::Combine(d, load_blocks(half, from + upper, stride), load_blocks(half, from, stride));
  }
}

// Vectors 0..3 of the drawing for four neighbouring columns; rows are `stride` floats apart.
template <class D>
HWY_INLINE void transpose_columns(D d, const float* from, size_t stride, float* out) {
  const hn::Repartition<uint64_t, D> pairs;
  const size_t lanes = hn::Lanes(d);
  const auto a = load_blocks(d, from, stride);
  const auto b = load_blocks(d, from + stride, stride);
  const auto c = load_blocks(d, from + 2 * stride, stride);
  const auto e = load_blocks(d, from + 3 * stride, stride);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, out);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, out + lanes);
  hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, out + 2 * lanes);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, out + 3 * lanes);
}

// Requires: count is a multiple of 4; out is aligned and holds count vectors.
template <class D>
HWY_INLINE void transpose_rows(D d, const float* rows, size_t count, float* out) {
  for (size_t e = 0; e < count; e += 4) {
    transpose_columns(d, rows + e, count, out + e * hn::Lanes(d));
  }
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_TRANSPOSE_H
