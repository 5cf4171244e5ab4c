// Kernels of IQ2 and IQ3. For rounding and sums, a lane is one of the tried scales, so that each
// adds up its values in order; for groups that are not rounded to a point, a lane is a near point
// (iq_nearest_simd.h).
#include <cstddef>
#include <cstdint>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/codebook/iq_search.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/codebook/iq_search_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/ggml/codebook/iq_nearest_simd.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr float kOddLevels[8] = {1, 3, 5, 7, 9, 11, 13, 15};
// Levels of two bits, repeated. The fourth is never chosen.
constexpr float kThreeLevels[8] = {1, 3, 5, 7, 1, 3, 5, 7};

// Rounds all groups for the tries `t` to t + kLanes - 1.
template <int kBits>
HWY_INLINE void round_tries(const IqRun& run, int32_t top, size_t t, IqTries& tries) {
  constexpr size_t kDims = kBits == 3 ? 4 : 8;
  const Float inverse = hn::Load(kF, tries.inverses + t);
  for (size_t k = 0; k < run.count / kDims; ++k) {
    Int packed = hn::Zero(kI);
    HWY_UNROLL(8)
    for (size_t i = 1; i <= kDims; ++i) {  // from the last value, which has the highest bits
      const Float value = splat(run.values[k * kDims + kDims - i]);
      const Float steps = hn::Mul(splat(0.5f), hn::Sub(hn::Mul(inverse, value), splat(1.0f)));
      const Int level = clamp_int(round_to_int_lanes(steps), 0, top);
      packed = hn::Or(hn::ShiftLeft<kBits>(packed), level);
    }
    hn::Store(hn::BitCast(kW, packed), kW, tries.codes[k] + t);
  }
}

template <int kBits>
HWY_INLINE void sum_tries_of(const IqRun& run, size_t t, IqTries& tries) {
  constexpr size_t kDims = kBits == 3 ? 4 : 8;
  Float wqx = hn::Zero(kF), wqq = hn::Zero(kF);
  for (size_t k = 0; k < run.count / kDims; ++k) {
    Int codes = hn::BitCast(kI, hn::Load(kW, tries.codes[k] + t));
    HWY_UNROLL(8)
    for (size_t i = 0; i < kDims; ++i, codes = hn::ShiftRight<kBits>(codes)) {
      const Int level = hn::And(codes, splat_int((1 << kBits) - 1));
      const Float q = hn::ConvertTo(kF, hn::Or(hn::Add(level, level), splat_int(1)));
      const Float weight = splat(run.weights[k * kDims + i]);
      const float weighted = run.weights[k * kDims + i] * run.values[k * kDims + i];
      wqx = hn::Add(wqx, hn::Mul(splat(weighted), q));
      wqq = hn::Add(wqq, hn::Mul(hn::Mul(weight, q), q));
    }
  }
  hn::Store(wqx, kF, tries.wqx + t);
  hn::Store(wqq, kF, tries.wqq + t);
}

template <int kBits>
void try_scales_of(const IqRun& run, const IqGrid& grid, IqTries& tries) {
  constexpr size_t kDims = kBits == 3 ? 4 : 8;
  // Lanes without a try repeat the first one.
  for (size_t t = tries.count; t % kLanes != 0; ++t) tries.inverses[t] = tries.inverses[0];
  const auto top = static_cast<int32_t>(grid.levels) - 1;
  for (size_t t = 0; t < tries.count; t += kLanes) round_tries<kBits>(run, top, t, tries);
  for (size_t t = 0; t < tries.count; ++t) {
    tries.moved[t] = 0;
    for (size_t k = 0; k < run.count / kDims; ++k) {
      const uint32_t packed = tries.codes[k][t];
      if (grid.lookup[packed] >= 0) continue;
      tries.moved[t] |= 1u << k;
      tries.codes[k][t] =
          nearest_lanes<kBits>(grid, packed,
                               {kBits == 3 ? kOddLevels : kThreeLevels, run.values + k * kDims,
                                run.roots + k * kDims, tries.scales[t]});
    }
  }
  for (size_t t = 0; t < tries.count; t += kLanes) sum_tries_of<kBits>(run, t, tries);
}

}  // namespace

void try_scales(const IqRun& run, const IqGrid& grid, IqTries& tries) {
  if (grid.bits == 3) {
    try_scales_of<3>(run, grid, tries);
  } else {
    try_scales_of<2>(run, grid, tries);
  }
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_FUNCTION(void, try_iq_scales, try_scales,
                   (const IqRun& run, const IqGrid& grid, IqTries& tries), (run, grid, tries))

}  // namespace ckpt
#endif  // HWY_ONCE
