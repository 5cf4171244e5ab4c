// The search of IQ1_S and IQ1_M: 32 or 16 values share a scale, and each 8 are a point of the
// codebook whose levels stand for -1, 0 and 1, all shifted by +1/8 or by -1/8.
//
// In sorted order, the values that become -1, 0 and 1 are three runs, so the search tries all ways
// to split them, with either shift: IQ1_S shifts 32 values together, IQ1_M each half of 16.
// Source of truth: llama.cpp ggml/src/ggml-quants.c (quantize_row_iq1_s_impl, _iq1_m_impl).
#pragma once

#include <cstdint>
#include <limits>

#include "quantizers/ggml/codebook/iq_grid.h"

namespace ckpt {

inline constexpr float kIq1Move = 0.125f;
inline constexpr uint32_t kIq1MaxRun = 32;

// The value of each level, when not shifted, shifted up and shifted down.
struct Iq1Levels {
  float value[3];
};
inline constexpr Iq1Levels kIq1Up = {{-1 + kIq1Move, kIq1Move, 1 + kIq1Move}};
inline constexpr Iq1Levels kIq1Down = {{-1 - kIq1Move, -kIq1Move, 1 - kIq1Move}};

// Sums over the first i of the sorted values, i = 0 .. count. [1] covers only values of the second
// half of the run (IQ1_M), [0] those of the first; IQ1_S has all in [0]. Vectors may read, and
// ignore, kIq1Padding numbers after the last.
inline constexpr uint32_t kIq1Padding = 15;
struct Iq1Sums {
  uint32_t count;
  float wx[2][kIq1MaxRun + 1 + kIq1Padding];
  float w[2][kIq1MaxRun + 1 + kIq1Padding];
};

// The best split: of the sorted values the first `first` become -1, those up to `second` 0.
struct Iq1Cut {
  float scale;
  uint32_t first, second;
  uint32_t down;  // bit 0: the first half is shifted down, bit 1: the second
  bool found;
};

// Keeps the split that explains most among those offered; the first among equals.
struct Iq1BestCut {
  Iq1Cut cut = {0, 0, 0, 0, false};
  float score = -std::numeric_limits<float>::max();

  void offer(float wqx, float wqq, const Iq1Cut& offered) {
    if (!(wqq > 0 && wqx * wqx > score * wqq)) return;
    cut = offered;
    cut.scale = wqx / wqq;
    score = cut.scale * wqx;
  }
};

// Eight values and the weights of their squared errors.
struct Iq1Group {
  const float* values;
  const float* weights;
};

// The best split of 32 and of 16 values, and the near point of `packed` with the lowest error.
Iq1Cut cut_iq1_32_scalar(const Iq1Sums& sums);
Iq1Cut cut_iq1_16_scalar(const Iq1Sums& sums);
uint16_t nearest_iq1_point_scalar(const IqGrid& grid, uint32_t packed, const Iq1Group& group,
                                  float scale, const Iq1Levels& levels);

struct Iq1Search {
  decltype(&cut_iq1_32_scalar) cut_32;
  decltype(&cut_iq1_16_scalar) cut_16;
  decltype(&nearest_iq1_point_scalar) nearest;
};
extern const Iq1Search kIq1ScalarSearch;
extern const Iq1Search kIq1VectorSearch;

}  // namespace ckpt
