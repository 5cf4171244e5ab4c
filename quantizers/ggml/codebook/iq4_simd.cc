// Kernels of IQ4_NL and IQ4_XS. A lane is one of the tried scales, so that each adds up its values
// in order; for codes, a lane is a value.
//
// The nearer of two entries is found by comparing with the middle between them. Close to it, the
// differences from both entries are exact, so the scalar twin decides the same way.
#include <cstddef>
#include <cstdint>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/codebook/iq4.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/codebook/iq4_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr int kSteps = 15;  // between the 16 entries

HWY_INLINE Float middle_of(int step) {
  return splat(0.5f * static_cast<float>(kIq4Table[step] + kIq4Table[step + 1]));
}

// The entry nearest to `value`; for NaN the last one, as in the scalar twin.
HWY_INLINE Float nearest_entry(Float value) {
  Float out = splat(static_cast<float>(kIq4Table[kSteps]));
  HWY_UNROLL(15)
  for (int i = 0; i < kSteps; ++i) {
    const Float step = splat(static_cast<float>(kIq4Table[i + 1] - kIq4Table[i]));
    out = hn::Sub(out, hn::IfThenElseZero(hn::Lt(value, middle_of(i)), step));
  }
  return out;
}

HWY_INLINE Int nearest_code(Float value) {
  Int out = splat_int(kSteps);
  HWY_UNROLL(15)
  for (int i = 0; i < kSteps; ++i) {
    out = hn::Add(out, hn::VecFromMask(kI, hn::RebindMask(kI, hn::Lt(value, middle_of(i)))));
  }
  return out;
}

}  // namespace

void sum_tries(const float* values, const float* weights, const float* inverses, Iq4Sums& out) {
  for (size_t at = 0; at < kIq4Tries; at += kLanes) {
    const Float inverse = hn::LoadU(kF, inverses + at);
    Float wqx = hn::Zero(kF), wqq = hn::Zero(kF);
    for (size_t i = 0; i < kIq4Values; ++i) {
      const Float value = splat(values[i]);
      const Float q = nearest_entry(hn::Mul(inverse, value));
      const Float wq = hn::Mul(splat(weights[i]), q);
      wqx = hn::Add(wqx, hn::Mul(wq, value));
      wqq = hn::Add(wqq, hn::Mul(wq, q));
    }
    hn::Store(wqx, kF, out.wqx + at);
    hn::Store(wqq, kF, out.wqq + at);
  }
}

void find_codes(const float* values, float inverse, uint8_t* codes) {
  for (size_t i = 0; i < kIq4Values; i += kLanes) {
    store_low_bytes(nearest_code(hn::Mul(splat(inverse), hn::LoadU(kF, values + i))), codes + i);
  }
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_FUNCTION(void, sum_iq4, sum_tries,
                   (const float* values, const float* weights, const float* inverses, Iq4Sums& out),
                   (values, weights, inverses, out))
CKPT_SIMD_FUNCTION(void, find_iq4_codes, find_codes,
                   (const float* values, float inverse, uint8_t* codes), (values, inverse, codes))

}  // namespace ckpt
#endif  // HWY_ONCE
