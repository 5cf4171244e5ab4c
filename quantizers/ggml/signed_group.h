// Data of the search of signed.h: groups of runs and their extremes.
//
// A group is kLanes runs of kCount values, one run a lane; vector e of an array holds value e of
// each.
//
// Note: of two equal magnitudes the first is the extreme. A lane with NaN
// may also be dead; it is bad all the same.
// Included once for each target by *_simd.cc files only.
#if defined(CKPT_SIMD_SIGNED_GROUP_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_SIGNED_GROUP_H
#undef CKPT_SIMD_SIGNED_GROUP_H
#else
#define CKPT_SIMD_SIGNED_GROUP_H
#endif

#include "quantizers/ggml/scale_search.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// Candidates of one pass: as many as leave room in the registers.
constexpr size_t kPassWidth = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 6 : 3;

template <size_t kCount>
struct SignedGroup {
  alignas(64) float x[kCount * kLanes];
  alignas(64) float w[kCount * kLanes];
  alignas(64) float wx[kCount * kLanes];  // w x
};

struct SignedLanes {
  Float extreme, scale, best, inverse;
  Mask dead;  // zero, or nearly
  Mask bad;   // Inf or NaN among the values
};

// The value of largest magnitude of each lane, the first of equals.
template <size_t kCount>
HWY_INLINE void find_extremes(const float* x, SignedLanes& lanes) {
  Float largest = hn::Zero(kF);
  Float extreme = largest;
  Int magnitude = splat_int(0);
  for (size_t e = 0; e < kCount; ++e) {
    const Float value = hn::Load(kF, x + e * kLanes);
    const Float size = hn::Abs(value);
    const Mask larger = hn::Gt(size, largest);
    largest = hn::IfThenElse(larger, size, largest);
    extreme = hn::IfThenElse(larger, value, extreme);
    magnitude = hn::Max(magnitude, bits_of(size));
  }
  lanes.extreme = extreme;
  lanes.dead = hn::Lt(largest, splat(kZeroMagnitude));
  lanes.bad = hn::RebindMask(kF, hn::Gt(magnitude, splat_int(kInfBits - 1)));
}

// Limits by integer comparisons: below a bound > 0, and above a bound < 0 (as unsigned numbers
// negative floats come after the others, the larger magnitude last).
HWY_INLINE Float limit_signed_high(Float value, Float bound) {
  return float_of(hn::Min(bits_of(value), bits_of(bound)));
}
HWY_INLINE Float limit_signed_low(Float value, Float bound) {
  return hn::BitCast(kF, hn::Min(hn::BitCast(kW, value), hn::BitCast(kW, bound)));
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_SIGNED_GROUP_H
