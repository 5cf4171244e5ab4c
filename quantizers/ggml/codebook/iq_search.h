// The search of IQ2 and IQ3: 16 or 32 magnitudes share a scale, and each 8 or 4 of them are one
// point of a codebook.
//
// The search tries scales around the one that maps the largest magnitude to the highest level.
// Rounding gives levels; if these are not a point, the near point with the lowest weighted error
// replaces them (these weights are the roots of the others). The scale is then solved for by least
// squares, and kept if it explains more.
// Source of truth: llama.cpp ggml/src/ggml-quants.c (quantize_row_iq2_xs_impl and its like).
#pragma once

#include <cstddef>
#include <cstdint>

#include "quantizers/ggml/codebook/iq_grid.h"

namespace ckpt {

inline constexpr size_t kIqMaxTries = 32;
inline constexpr size_t kIqMaxGroups = 8;
inline constexpr size_t kIqMaxRun = 32;

struct IqRun {
  uint32_t count;        // 16 or 32
  const float* values;   // magnitudes; one may be negative if signs must be even in number
  const float* weights;  // weights of squared errors
  const float* roots;    // square roots of the weights
};

// Scales to try, and the result of each. Group k begins at value k * dims.
struct IqTries {
  uint32_t count;                                         // at most kIqMaxTries
  alignas(64) float scales[kIqMaxTries];                  // value of half a level, about ...
  alignas(64) float inverses[kIqMaxTries];                // ... and the factor applied to values
  alignas(64) uint32_t codes[kIqMaxGroups][kIqMaxTries];  // packed points
  alignas(64) uint32_t moved[kIqMaxTries];                // bit k: group k is not at a point
  alignas(64) float wqx[kIqMaxTries];  // sums of (w x) q and (w q) q over the values in order,
  alignas(64) float wqq[kIqMaxTries];  // q = 2 level + 1
};

// Fills codes, moved, wqx and wqq from scales and inverses.
void try_iq_scales_scalar(const IqRun& run, const IqGrid& grid, IqTries& tries);
void try_iq_scales(const IqRun& run, const IqGrid& grid, IqTries& tries);  // with vectors
using TryIqScales = decltype(&try_iq_scales_scalar);

// How the types differ.
struct IqRule {
  int32_t reach;     // tries are -reach .. reach
  float step;        // of the highest level, between tries
  bool refines_all;  // rounds all groups again with the chosen scale, not only moved ones
  bool always;       // refines even if no group was moved
};

struct IqFit {
  float scale;  // negative: all values change sign. Infinity where sums overflowed.
  uint16_t codes[kIqMaxGroups];
};

// `start` is the scale to use if no try explains anything, `largest` the value for the highest
// level.
struct IqStart {
  float scale;
  float largest;
};
IqFit fit_iq_scale(TryIqScales try_scales, const IqRun& run, const IqGrid& grid, const IqRule& rule,
                   const IqStart& start);

// The near point of `packed` with the lowest error: the first among equals, and the nearest if all
// errors overflow.
uint16_t nearest_iq_point(const IqGrid& grid, uint32_t packed, const float* values,
                          const float* roots, float scale);

}  // namespace ckpt
