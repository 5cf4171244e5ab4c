// Transposes rows into lanes, because kernels that sum hold one run of values per lane.
//
//   rows in memory          in lanes, element e of all rows next to each other
//   row 0   a0 a1 a2 ...    out[0 kLanes ..]  a0 b0 c0 ...
//   row 1   b0 b1 b2 ...    out[1 kLanes ..]  a1 b1 c1 ...
//
// Note: lanes stay in the order of the rows, because the first of equal maxima must win; sums in a
// lane run over e in the scalar twin's order. Included once per target by *_simd.cc files only.
#if defined(CKPT_SIMD_ROWS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_ROWS_H
#undef CKPT_SIMD_ROWS_H
#else
#define CKPT_SIMD_ROWS_H
#endif

#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// Loads rows[4 i][0..3] into block i (4 floats) of the result.
template <class D>
HWY_INLINE hn::Vec<D> load_quads(D d, const float* const* rows, size_t element) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, rows[0] + element);
  } else {
    const hn::Half<D> half;
    constexpr size_t kHalf = hn::MaxLanes(hn::Half<D>());
    return hn::Combine(d, load_quads(half, rows + kHalf, element), load_quads(half, rows, element));
  }
}

struct Quad {
  Float v0, v1, v2, v3;
};

// Loads elements element..element+3 of kLanes rows, transposed.
HWY_INLINE Quad load_transposed(const float* const* rows, size_t element) {
  const hn::RepartitionToWide<WordTag> wide;
  const Float r0 = load_quads(kF, rows, element);
  const Float r1 = load_quads(kF, rows + 1, element);
  const Float r2 = load_quads(kF, rows + 2, element);
  const Float r3 = load_quads(kF, rows + 3, element);
  const auto a = hn::BitCast(wide, hn::InterleaveLower(kF, r0, r1));
  const auto b = hn::BitCast(wide, hn::InterleaveUpper(kF, r0, r1));
  const auto c = hn::BitCast(wide, hn::InterleaveLower(kF, r2, r3));
  const auto d = hn::BitCast(wide, hn::InterleaveUpper(kF, r2, r3));
  return {hn::BitCast(kF, hn::InterleaveLower(wide, a, c)),
          hn::BitCast(kF, hn::InterleaveUpper(wide, a, c)),
          hn::BitCast(kF, hn::InterleaveLower(wide, b, d)),
          hn::BitCast(kF, hn::InterleaveUpper(wide, b, d))};
}

// `count` is a multiple of 4; `out` has room for count x kLanes floats and is aligned to a vector.
HWY_INLINE void transpose_rows(const float* const* rows, size_t count, float* out) {
  for (size_t e = 0; e < count; e += 4, out += 4 * kLanes) {
    const Quad quad = load_transposed(rows, e);
    hn::Store(quad.v0, kF, out);
    hn::Store(quad.v1, kF, out + kLanes);
    hn::Store(quad.v2, kF, out + 2 * kLanes);
    hn::Store(quad.v3, kF, out + 3 * kLanes);
  }
}

// Transposes kLanes adjacent rows of `count` floats.
HWY_INLINE void transpose_neighbors(const float* first, size_t count, float* out) {
  const float* rows[kLanes];
  for (size_t r = 0; r < kLanes; ++r) rows[r] = first + r * count;
  transpose_rows(rows, count, out);
}

// Returns vector e of the output of transpose_rows.
HWY_INLINE Float vector_at(const float* from, size_t e) { return hn::Load(kF, from + e * kLanes); }

// Sums the squares of each row, from its first value to its last.
HWY_INLINE Float sum_squares_rows(const float* const* rows, size_t count) {
  Float sum = hn::Zero(kF);
  for (size_t e = 0; e < count; e += 4) {
    const Quad quad = load_transposed(rows, e);
    sum = hn::Add(sum, hn::Mul(quad.v0, quad.v0));
    sum = hn::Add(sum, hn::Mul(quad.v1, quad.v1));
    sum = hn::Add(sum, hn::Mul(quad.v2, quad.v2));
    sum = hn::Add(sum, hn::Mul(quad.v3, quad.v3));
  }
  return sum;
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_ROWS_H
