// Finds the E2M1 number nearest to a magnitude, in vectors.
//
// Note: a magnitude is rounded by adding 2^22, 2^23 or 2^24, whose last
// bits are worth the steps of E2M1 below 2, 4 and 8.
// Included once for each target by *_simd.cc files only.
#if defined(CKPT_SIMD_E2M1_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_E2M1_H
#undef CKPT_SIMD_E2M1_H
#else
#define CKPT_SIMD_E2M1_H
#endif

#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// Ties go to even; larger numbers and NaN give 6.
HWY_INLINE Float nearest_e2m1(Float value) {
  const Int magnitude = hn::Min(magnitude_bits(value), splat_int(0x40C00000));
  const Int level = hn::And(hn::Max(magnitude, splat_int(0x3F800000)), splat_int(0x7F800000));
  const Float power = float_of(hn::Add(level, splat_int(22 << 23)));
  return hn::Sub(hn::Add(float_of(magnitude), power), power);
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_E2M1_H
