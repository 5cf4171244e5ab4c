// The codebooks of IQ1, IQ2 and IQ3, and the near points for levels that are not a point.
//
//   points    levels of 8 neighbors (0, 1 or 2, 2 bits each) or of 4 (0 to 7, 3 bits each, IQ3);
//             the first neighbor has the lowest bits
//   lookup    packed levels -> index of the point, or -1 - index of the run of near points
//   about     runs: a count, then that many points, nearest first, equally near ones by index
//
// Near points are all points at the smallest few distances; their number differs by codebook.
// Source of truth: llama.cpp ggml/src/ggml-quants.c (iq2xs_init_impl, iq3xs_init_impl).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ckpt {

extern const std::array<uint16_t, 2048> kIq1Points;
extern const std::array<uint16_t, 256> kIq2XxsPoints;
extern const std::array<uint16_t, 512> kIq2XsPoints;
extern const std::array<uint16_t, 1024> kIq2SPoints;
extern const std::array<uint16_t, 256> kIq3XxsPoints;
extern const std::array<uint16_t, 512> kIq3SPoints;

// Vectors may read, and ignore, this many numbers after a run.
inline constexpr uint32_t kIqAboutPadding = 15;

struct IqGrid {
  uint32_t dims;    // 8 or 4
  uint32_t bits;    // per level: 2 or 3
  uint32_t levels;  // 3 or 8
  std::span<const uint16_t> points;
  std::vector<int32_t> lookup;
  std::vector<uint16_t> about;

  // The run of points near `levels`, which begins with its length. Requires: lookup[levels] < 0.
  const uint16_t* points_about(uint32_t packed) const {
    return about.data() + (-1 - lookup[packed]);
  }
};

// The near point of `packed` with the lowest error_of(point), the first among equals.
template <class ErrorOf>
uint16_t least_point_about(const IqGrid& grid, uint32_t packed, const ErrorOf& error_of) {
  const uint16_t* about = grid.points_about(packed);
  uint16_t best = about[1];
  float best_error = std::numeric_limits<float>::max();
  for (uint32_t k = 1; k <= about[0]; ++k) {
    const float error = error_of(about[k]);
    if (!(error < best_error)) continue;
    best_error = error;
    best = about[k];
  }
  return best;
}

// Made on first use, which takes up to a tenth of a second.
const IqGrid& iq1_grid();
const IqGrid& iq2_xxs_grid();
const IqGrid& iq2_xs_grid();
const IqGrid& iq2_s_grid();
const IqGrid& iq3_xxs_grid();
const IqGrid& iq3_s_grid();

}  // namespace ckpt
