#include "quantizers/ggml/codebook/iq1_search.h"

namespace ckpt {
namespace {

// Levels are 1 apart, so the weighted sum over a half is that of the highest level, minus one for
// each boundary above a value; squares use the differences of the squared levels.
float half_wqx(const float* wx, uint32_t n, uint32_t i, uint32_t j, const Iq1Levels& levels) {
  return wx[n] * levels.value[2] - (wx[i] + wx[j]);
}
float half_wqq(const float* w, uint32_t n, uint32_t i, uint32_t j, const Iq1Levels& levels) {
  const float* q = levels.value;
  const float low = q[0] * q[0] - q[1] * q[1];
  const float high = q[1] * q[1] - q[2] * q[2];
  return w[n] * q[2] * q[2] + w[i] * low + w[j] * high;
}

}  // namespace

Iq1Cut cut_iq1_32_scalar(const Iq1Sums& sums) {
  const float* wx = sums.wx[0];
  const float* w = sums.w[0];
  const uint32_t n = sums.count;
  Iq1BestCut best;
  for (uint32_t i = 0; i <= n; ++i) {
    for (uint32_t j = i; j <= n; ++j) {
      for (const Iq1Levels* levels : {&kIq1Up, &kIq1Down}) {
        const float* q = levels->value;
        const float wqx = (wx[i] - wx[0]) * q[0] + (wx[j] - wx[i]) * q[1] + (wx[n] - wx[j]) * q[2];
        const float wqq =
            (w[i] - w[0]) * q[0] * q[0] + (w[j] - w[i]) * q[1] * q[1] + (w[n] - w[j]) * q[2] * q[2];
        best.offer(wqx, wqq, {0, i, j, levels == &kIq1Up ? 0u : 3u, true});
      }
    }
  }
  return best.cut;
}

Iq1Cut cut_iq1_16_scalar(const Iq1Sums& sums) {
  const uint32_t n = sums.count;
  Iq1BestCut best;
  for (uint32_t i = 0; i <= n; ++i) {
    for (uint32_t j = i; j <= n; ++j) {
      float wqx[2][2], wqq[2][2];  // for a half, shifted up or down
      for (uint32_t k = 0; k < 4; ++k) {
        const uint32_t half = k >> 1, down = k & 1;
        const Iq1Levels& levels = down == 0 ? kIq1Up : kIq1Down;
        wqx[half][down] = half_wqx(sums.wx[half], n, i, j, levels);
        wqq[half][down] = half_wqq(sums.w[half], n, i, j, levels);
      }
      for (const uint32_t down : {0u, 2u, 1u, 3u}) {
        best.offer(wqx[0][down & 1] + wqx[1][down >> 1], wqq[0][down & 1] + wqq[1][down >> 1],
                   {0, i, j, down, true});
      }
    }
  }
  return best.cut;
}

uint16_t nearest_iq1_point_scalar(const IqGrid& grid, uint32_t packed, const Iq1Group& group,
                                  float scale, const Iq1Levels& levels) {
  return least_point_about(grid, packed, [&](uint16_t point) {
    float error = 0;
    for (uint32_t i = 0; i < 8; ++i) {
      const float difference = scale * levels.value[point >> (2 * i) & 3] - group.values[i];
      error += group.weights[i] * difference * difference;
    }
    return error;
  });
}

constinit const Iq1Search kIq1ScalarSearch = {cut_iq1_32_scalar, cut_iq1_16_scalar,
                                              nearest_iq1_point_scalar};

}  // namespace ckpt
