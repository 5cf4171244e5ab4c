// Converts E4M3 block scales in vectors: numbers above zero to codes and back.
//
// Note: this is only the part of float_convert.h that scales need. NaN stays NaN (code 0x7F), and
// numbers below 2^-9 are rounded differently. Included once per target by *_simd.cc files only.
#if defined(CKPT_SIMD_E4M3_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_E4M3_H
#undef CKPT_SIMD_E4M3_H
#else
#define CKPT_SIMD_E4M3_H
#endif

#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// Does what e4m3_from_float of float_convert.h does, for numbers from 2^-9 on and NaN.
HWY_INLINE Int e4m3_of_positive(Float value) {
  constexpr int32_t kAnchor = (121 + 20) << 23;  // its last bit is worth 2^-9
  const Int bits = bits_of(value);
  const Int small =
      hn::Sub(bits_of(hn::Add(value, float_of(splat_int(kAnchor)))), splat_int(kAnchor));
  const Int odd = hn::And(hn::ShiftRight<20>(bits), splat_int(1));
  const Int half = hn::Add(odd, splat_int((1 << 19) - 1 - (120 << 23)));
  const Int normal = hn::ShiftRight<20>(hn::Add(bits, half));
  const Int code = hn::IfThenElse(hn::Lt(bits, splat_int(121 << 23)), small, normal);
  const auto is_nan = hn::Gt(bits, splat_int(kInfBits));
  return hn::IfThenElse(is_nan, splat_int(0x7F), hn::Min(code, splat_int(0x7E)));
}

HWY_INLINE Float float_of_positive_e4m3(Int code) {
  const Float number =
      hn::Mul(float_of(hn::ShiftLeft<20>(code)), float_of(splat_int((254 - 7) << 23)));
  const auto is_nan = hn::Eq(code, splat_int(0x7F));
  return float_of(hn::IfThenElse(is_nan, splat_int(0x7FC00000), bits_of(number)));
}

// Returns the codes of make_nvfp4_scales for largest magnitudes.
HWY_INLINE Int nvfp4_scale_codes(Float amax, float tensor_scale) {
  const Float smallest = splat(0x1p-9f);
  Float scale = hn::Div(amax, splat(6.0f * tensor_scale));
  scale = hn::IfThenElse(hn::Eq(scale, hn::Zero(kF)), splat(1.0f), scale);
  scale = hn::IfThenElse(hn::Lt(scale, smallest), smallest, scale);
  return e4m3_of_positive(scale);
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_E4M3_H
