// Results of searches of Q3_K and Q6_K blocks, and the levels that store their scales.
//
// Note: arrays by sub-block run block after block, arrays of levels hold
// one block a lane.
// Included once for each target by *_simd.cc files only.
#if defined(CKPT_SIMD_SIGNED_LEVELS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_SIGNED_LEVELS_H
#undef CKPT_SIMD_SIGNED_LEVELS_H
#else
#define CKPT_SIMD_SIGNED_LEVELS_H
#endif

#include "quantizers/ggml/signed.h"
#include "quantizers/simd/batch.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kSignedSub = 16;
constexpr size_t kSignedSubs = kBlock / kSignedSub;

// Results of the searches of a batch, by sub-block.
struct SignedFound {
  alignas(64) float scale[kSignedSubs * kLanes];
  alignas(64) float inverse[kSignedSubs * kLanes];
  alignas(64) int32_t dead[kSignedSubs * kLanes];
  alignas(64) int32_t bad[kSignedSubs * kLanes];
  // Null: codes of the search follow from inverse. Otherwise code - top of value e of sub-block s
  // is [s][e kLanes].
  const float* const* levels = nullptr;
};

// The stored scales of a batch.
struct SignedLevels {
  alignas(64) float level[kSignedSubs * kLanes];  // level j of block b at [j kLanes + b]
  alignas(64) float d[kLanes];                    // the half float below
  alignas(64) int32_t half[kLanes];
  alignas(64) int32_t dead[kLanes];  // no scale reaches kZeroMagnitude
  alignas(64) int32_t bad[kLanes];
};

HWY_INLINE Int flags(Mask mask) { return hn::VecFromMask(kI, hn::RebindMask(kI, mask)); }

HWY_INLINE void store_found(const SignedLanes& lanes, size_t at, SignedFound& out) {
  hn::Store(lanes.scale, kF, out.scale + at);
  hn::Store(lanes.inverse, kF, out.inverse + at);
  hn::Store(flags(lanes.dead), kI, out.dead + at);
  hn::Store(flags(lanes.bad), kI, out.bad + at);
}

HWY_INLINE void store_block_scales(Float d, Mask bad, SignedLevels& out) {
  const Int half = f16_bits_from_float(d);
  hn::Store(half, kI, out.half);
  hn::Store(float_from_f16_bits(half), kF, out.d);
  const Mask infinite = hn::RebindMask(kF, hn::Gt(magnitude_bits(d), splat_int(kInfBits - 1)));
  hn::Store(flags(hn::Or(bad, infinite)), kI, out.bad);
}

// The scale of largest magnitude gets level `extreme_level` (-128 or -32), the others at most
// -extreme_level - 1; d = 1 / (extreme_level / scale).
HWY_INLINE void find_extreme_levels(const BlockBatch& batch, const SignedFound& found,
                                    int32_t extreme_level, SignedLevels& out) {
  alignas(64) float scales[kSignedSubs * kLanes];
  const float* rows[kLanes];
  found_rows<kSignedSubs>(batch, found.scale, rows);
  transpose_rows(rows, kSignedSubs, scales);
  SignedLanes lanes;
  find_extremes<kSignedSubs>(scales, lanes);
  const Float inverse = hn::Div(splat(static_cast<float>(extreme_level)), lanes.extreme);
  const Mask zero = hn::Eq(lanes.extreme, hn::Zero(kF));
  const Mask infinite =
      hn::RebindMask(kF, hn::Gt(magnitude_bits(inverse), splat_int(kInfBits - 1)));
  for (size_t j = 0; j < kSignedSubs; ++j) {
    const Int level = round_to_int_lanes(hn::Mul(inverse, hn::Load(kF, scales + j * kLanes)));
    const Int limited = clamp_int(level, extreme_level, -extreme_level - 1);
    hn::Store(
        hn::IfThenElse(zero, splat(static_cast<float>(extreme_level)), hn::ConvertTo(kF, limited)),
        kF, out.level + j * kLanes);
  }
  store_block_scales(hn::IfThenZeroElse(zero, hn::Div(splat(1.0f), inverse)),
                     hn::Or(lanes.bad, hn::AndNot(zero, infinite)), out);
  hn::Store(flags(lanes.dead), kI, out.dead);
}

HWY_INLINE bool is_bad(const SignedFound& found, const SignedLevels& levels, size_t b) {
  int32_t bad = levels.bad[b];
  for (size_t j = 0; j < kSignedSubs; ++j) bad |= found.bad[b * kSignedSubs + j];
  return bad != 0;
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_SIGNED_LEVELS_H
