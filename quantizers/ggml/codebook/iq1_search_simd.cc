// Kernels of IQ1: splits with a lane per second boundary, and points with a lane each
// (iq_nearest_simd.h).
//
// Which split is best depends on the order in which they are offered. A vector of splits is
// compared with the best so far; if one explains more, all of them are offered one by one.
#include <cstddef>
#include <cstdint>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/codebook/iq1_search.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/codebook/iq1_search_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/ggml/codebook/iq_nearest_simd.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
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

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {
namespace {

CKPT_SIMD_FUNCTION(Iq1Cut, cut_iq1_32, cut_32, (const Iq1Sums& sums), (sums))
CKPT_SIMD_FUNCTION(Iq1Cut, cut_iq1_16, cut_16, (const Iq1Sums& sums), (sums))
CKPT_SIMD_FUNCTION(uint16_t, nearest_iq1_point, nearest,
                   (const IqGrid& grid, uint32_t packed, const Iq1Group& group, float scale,
                    const Iq1Levels& levels),
                   (grid, packed, group, scale, levels))

}  // namespace

constinit const Iq1Search kIq1VectorSearch = {cut_iq1_32, cut_iq1_16, nearest_iq1_point};

}  // namespace ckpt
#endif  // HWY_ONCE
