// The search of IQ1_S and IQ1_M: 32 or 16 values share a scale, and 8 of them are a point of the
// codebook whose levels stand for -1, 0 and 1, all moved by +1/8 or by -1/8.
//
// Sorted by size, the values that become -1, 0 and 1 are three runs, so all ways to cut them are
// tried, with either move: IQ1_S moves 32 values alike, IQ1_M each half of 16.
// Source of truth: llama.cpp ggml/src/ggml-quants.c (quantize_row_iq1_s_impl, _iq1_m_impl).
#pragma once

#include <cstdint>

#include "quantizers/ggml/iq_grid.h"

namespace ckpt {

inline constexpr float kIq1Move = 0.125f;
inline constexpr uint32_t kIq1MaxRun = 32;

// What each level stands for, not moved, moved up and moved down.
struct Iq1Levels {
  float value[3];
};
inline constexpr Iq1Levels kIq1Up = {{-1 + kIq1Move, kIq1Move, 1 + kIq1Move}};
inline constexpr Iq1Levels kIq1Down = {{-1 - kIq1Move, -kIq1Move, 1 - kIq1Move}};

// Sums over the first i of the sorted values, i = 0 .. count. [1] counts only values of the second
// half of the run (IQ1_M), [0] those of the first; IQ1_S has all in [0].
struct Iq1Sums {
  uint32_t count;
  float wx[2][kIq1MaxRun + 1];
  float w[2][kIq1MaxRun + 1];
};

// The best cut: of the sorted values the first `first` become -1, those up to `second` 0.
struct Iq1Cut {
  float scale;
  uint32_t first, second;
  uint32_t down;  // bit 0: the first half is moved down, bit 1: the second
  bool found;
};

struct Iq1Search {
  Iq1Cut (*cut_32)(const Iq1Sums&);
  Iq1Cut (*cut_16)(const Iq1Sums&);
  // Of the points about `packed` the one that errs least.
  uint16_t (*nearest)(const IqGrid& grid, uint32_t packed, const float* values,
                      const float* weights, float scale, const Iq1Levels& levels);
};
extern const Iq1Search kIq1ScalarSearch;

}  // namespace ckpt
