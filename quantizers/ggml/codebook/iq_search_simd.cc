// Kernels of the codebook types.
//
// IQ2 and IQ3: for rounding and sums, a lane is one of the tried scales, so that each
// adds up its values in order; for groups that are not rounded to a point, a lane is a near point
// (iq_nearest_simd.h).
//
// IQ1 sorts the values of a run and splits them at two boundaries into low, middle and high. A lane
// is a second boundary; in the search for points, a lane is a near point (iq_nearest_simd.h).
//
// The search keeps the first split that explains more than all before it, so the order counts. A
// vector of splits is compared with the best so far. If one of them explains more, the search takes
// the splits of this vector one after another, in the order in which the scalar twin tries them.
//
// IQ4_NL and IQ4_XS: a lane is one of the tried scales, so that each adds up its values
// in order; for codes, a lane is a value.
//
// The nearer of two entries is found by comparing with the middle between them. Close to it, the
// differences from both entries are exact, so the scalar twin decides the same way.
#include <cstddef>
#include <cstdint>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/codebook/iq1_search.h"
#include "quantizers/ggml/codebook/iq4.h"
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

namespace {

// Sums of splits, one per lane.
struct CutSums {
  Float wqx, wqq;
};

HWY_INLINE bool any_better(const CutSums& sums, const Iq1BestCut& best) {
  const Mask better = hn::Gt(hn::Mul(sums.wqx, sums.wqx), hn::Mul(splat(best.score), sums.wqq));
  return !hn::AllFalse(kF, hn::And(better, hn::Gt(sums.wqq, hn::Zero(kF))));
}

// Offers splits (i, j + lane), for each lane in the order of `downs`.
template <size_t kCount>
HWY_INLINE void offer_all(const CutSums (&sums)[kCount], const uint32_t (&downs)[kCount],
                          const Iq1Cut& first, uint32_t last, Iq1BestCut& best) {
  bool any = false;
  for (const CutSums& each : sums) any = any || any_better(each, best);
  if (HWY_LIKELY(!any)) return;
  alignas(64) float wqx[kCount][kLanes], wqq[kCount][kLanes];
  for (size_t c = 0; c < kCount; ++c) {
    hn::Store(sums[c].wqx, kF, wqx[c]);
    hn::Store(sums[c].wqq, kF, wqq[c]);
  }
  for (uint32_t lane = 0; lane < kLanes && first.second + lane <= last; ++lane) {
    for (size_t c = 0; c < kCount; ++c) {
      best.offer(wqx[c][lane], wqq[c][lane], {0, first.first, first.second + lane, downs[c], true});
    }
  }
}

// The sum of IQ1_S for first boundary i: of weights, or of weighted values.
HWY_INLINE Float cut_wqx(const float* wx, uint32_t n, uint32_t i, Float at_j, const float* q) {
  const Float low = splat((wx[i] - wx[0]) * q[0]);
  const Float middle = hn::Mul(hn::Sub(at_j, splat(wx[i])), splat(q[1]));
  const Float high = hn::Mul(hn::Sub(splat(wx[n]), at_j), splat(q[2]));
  return hn::Add(hn::Add(low, middle), high);
}
HWY_INLINE Float cut_wqq(const float* w, uint32_t n, uint32_t i, Float at_j, const float* q) {
  const Float low = splat((w[i] - w[0]) * q[0] * q[0]);
  const Float middle = hn::Mul(hn::Mul(hn::Sub(at_j, splat(w[i])), splat(q[1])), splat(q[1]));
  const Float high = hn::Mul(hn::Mul(hn::Sub(splat(w[n]), at_j), splat(q[2])), splat(q[2]));
  return hn::Add(hn::Add(low, middle), high);
}

// The sum of a half of IQ1_M.
HWY_INLINE Float half_wqx(const float* wx, uint32_t n, uint32_t i, Float at_j, const float* q) {
  return hn::Sub(splat(wx[n] * q[2]), hn::Add(splat(wx[i]), at_j));
}
HWY_INLINE Float half_wqq(const float* w, uint32_t n, uint32_t i, Float at_j, const float* q) {
  const float low = q[0] * q[0] - q[1] * q[1];
  const float high = q[1] * q[1] - q[2] * q[2];
  return hn::Add(splat(w[n] * q[2] * q[2] + w[i] * low), hn::Mul(at_j, splat(high)));
}

}  // namespace

Iq1Cut cut_32(const Iq1Sums& sums) {
  const float* wx = sums.wx[0];
  const float* w = sums.w[0];
  const uint32_t n = sums.count;
  Iq1BestCut best;
  for (uint32_t i = 0; i <= n; ++i) {
    for (uint32_t j = i; j <= n; j += kLanes) {
      const Float wx_j = hn::LoadU(kF, wx + j), w_j = hn::LoadU(kF, w + j);
      CutSums both[2];
      const Iq1Levels* levels[2] = {&kIq1Up, &kIq1Down};
      for (size_t c = 0; c < 2; ++c) {
        both[c] = {cut_wqx(wx, n, i, wx_j, levels[c]->value),
                   cut_wqq(w, n, i, w_j, levels[c]->value)};
      }
      offer_all(both, {0u, 3u}, {0, i, j, 0, true}, n, best);
    }
  }
  return best.cut;
}

Iq1Cut cut_16(const Iq1Sums& sums) {
  const uint32_t n = sums.count;
  Iq1BestCut best;
  for (uint32_t i = 0; i <= n; ++i) {
    for (uint32_t j = i; j <= n; j += kLanes) {
      CutSums half[2][2];  // for a half, shifted up or down
      for (size_t h = 0; h < 2; ++h) {
        const Float wx_j = hn::LoadU(kF, sums.wx[h] + j), w_j = hn::LoadU(kF, sums.w[h] + j);
        half[h][0] = {half_wqx(sums.wx[h], n, i, wx_j, kIq1Up.value),
                      half_wqq(sums.w[h], n, i, w_j, kIq1Up.value)};
        half[h][1] = {half_wqx(sums.wx[h], n, i, wx_j, kIq1Down.value),
                      half_wqq(sums.w[h], n, i, w_j, kIq1Down.value)};
      }
      constexpr uint32_t kDowns[4] = {0, 2, 1, 3};
      CutSums all[4];
      for (size_t c = 0; c < 4; ++c) {
        const CutSums& first = half[0][kDowns[c] & 1];
        const CutSums& second = half[1][kDowns[c] >> 1];
        all[c] = {hn::Add(first.wqx, second.wqx), hn::Add(first.wqq, second.wqq)};
      }
      offer_all(all, kDowns, {0, i, j, 0, true}, n, best);
    }
  }
  return best.cut;
}

uint16_t nearest(const IqGrid& grid, uint32_t packed, const Iq1Group& group, float scale,
                 const Iq1Levels& levels) {
  const float* q = levels.value;
  const float repeated[8] = {q[0], q[1], q[2], 0, q[0], q[1], q[2], 0};
  return nearest_lanes<2>(grid, packed, {repeated, group.values, group.weights, scale});
}

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

CKPT_SIMD_FUNCTION(void, try_iq_scales, try_scales,
                   (const IqRun& run, const IqGrid& grid, IqTries& tries), (run, grid, tries))

namespace {

CKPT_SIMD_FUNCTION(Iq1Cut, cut_iq1_32, cut_32, (const Iq1Sums& sums), (sums))
CKPT_SIMD_FUNCTION(Iq1Cut, cut_iq1_16, cut_16, (const Iq1Sums& sums), (sums))
CKPT_SIMD_FUNCTION(uint16_t, nearest_iq1_point, nearest,
                   (const IqGrid& grid, uint32_t packed, const Iq1Group& group, float scale,
                    const Iq1Levels& levels),
                   (grid, packed, group, scale, levels))

}  // namespace

constinit const Iq1Search kIq1VectorSearch = {cut_iq1_32, cut_iq1_16, nearest_iq1_point};

CKPT_SIMD_FUNCTION(void, sum_iq4, sum_tries,
                   (const float* values, const float* weights, const float* inverses, Iq4Sums& out),
                   (values, weights, inverses, out))
CKPT_SIMD_FUNCTION(void, find_iq4_codes, find_codes,
                   (const float* values, float inverse, uint8_t* codes), (values, inverse, codes))

}  // namespace ckpt
#endif  // HWY_ONCE
