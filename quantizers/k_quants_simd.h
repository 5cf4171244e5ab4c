// What the kernels of 256-value types share: sub-blocks in lanes, rounding, bytes.
//
// Kernels that sum hold one sub-block in each lane, so that each lane adds in ggml's order:
//
//   memory   row r: x[r][0] x[r][1] ... x[r][count-1]     r = 0..lanes-1, rows back to back
//   out      vector e: lane r = x[r][e]                   e = 0..count-1
//
// What a reader would get wrong: lanes stay in the order of the rows, because the first of equal
// maxima must win. Included once for each target by *_simd.cc files only.
#if defined(CKPT_K_QUANTS_SIMD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_K_QUANTS_SIMD_H
#undef CKPT_K_QUANTS_SIMD_H
#else
#define CKPT_K_QUANTS_SIMD_H
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using V = hn::Vec<Floats>;
using M = hn::Mask<Floats>;

constexpr size_t kLanes = hn::MaxLanes(Floats());

HWY_INLINE V vector_of(float value) { return hn::Set(Floats(), value); }
// Vector e of a scratch array.
HWY_INLINE V load(const float* from, size_t e) { return hn::Load(Floats(), from + e * kLanes); }

// round_to_int of rounding.h, for any float.
HWY_INLINE hn::Vec<Ints> round_any(V v) {
  const auto bits = hn::BitCast(Ints(), hn::Add(v, vector_of(12582912.0f)));
  return hn::Sub(hn::And(bits, hn::Set(Ints(), 0x007FFFFF)), hn::Set(Ints(), 0x00400000));
}

// Requires: numbers in 0..255.
HWY_INLINE void store_bytes(hn::Vec<Ints> numbers, uint8_t* out) {
  const hn::Rebind<uint8_t, Floats> d;
  hn::StoreU(hn::U8FromU32(hn::BitCast(hn::RebindToUnsigned<Ints>(), numbers)), d, out);
}

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

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_K_QUANTS_SIMD_H
