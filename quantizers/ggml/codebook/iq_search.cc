#include "quantizers/ggml/codebook/iq_search.h"

#include <limits>

#include "quantizers/rounding.h"

namespace ckpt {
namespace {

float odd_level(const IqGrid& grid, uint32_t packed, uint32_t i) {
  const uint32_t level = packed >> (grid.bits * i) & ((1u << grid.bits) - 1);
  return static_cast<float>(2 * level + 1);
}

uint32_t round_to_levels(const IqGrid& grid, const float* values, float inverse) {
  const auto top = static_cast<int32_t>(grid.levels) - 1;
  uint32_t packed = 0;
  for (uint32_t i = 0; i < grid.dims; ++i) {
    const int32_t level = round_and_clamp(0.5f * (inverse * values[i] - 1), 0, top);
    packed |= static_cast<uint32_t>(level) << (grid.bits * i);
  }
  return packed;
}

struct IqSums {
  float wqx = 0;
  float wqq = 0;
};
void add_group(const IqRun& run, const IqGrid& grid, uint32_t group, uint32_t packed,
               IqSums& sums) {
  for (uint32_t i = 0; i < grid.dims; ++i) {
    const float weight = run.weights[group * grid.dims + i];
    const float q = odd_level(grid, packed, i);
    sums.wqx += weight * run.values[group * grid.dims + i] * q;
    sums.wqq += weight * q * q;
  }
}

// Moves the groups in `which` to the points for `scale`, and sets the scale of `fit` for them.
void refine(TryIqScales try_scales, const IqRun& run, const IqGrid& grid, uint32_t which,
            IqFit& fit) {
  IqTries tries;
  tries.count = 1;
  tries.scales[0] = fit.scale;
  tries.inverses[0] = 1 / fit.scale;
  try_scales(run, grid, tries);
  IqSums sums;
  for (uint32_t k = 0; k < run.count / grid.dims; ++k) {
    if ((which >> k & 1) != 0) fit.codes[k] = static_cast<uint16_t>(tries.codes[k][0]);
    add_group(run, grid, k, fit.codes[k], sums);
  }
  if (sums.wqq > 0) fit.scale = sums.wqx / sums.wqq;
}

}  // namespace

uint16_t nearest_iq_point(const IqGrid& grid, uint32_t packed, const float* values,
                          const float* roots, float scale) {
  return least_point_about(grid, packed, [&](uint16_t point) {
    float error = 0;
    for (uint32_t i = 0; i < grid.dims; ++i) {
      const float difference = scale * odd_level(grid, point, i) - values[i];
      error += roots[i] * difference * difference;
    }
    return error;
  });
}

void try_iq_scales_scalar(const IqRun& run, const IqGrid& grid, IqTries& tries) {
  for (uint32_t t = 0; t < tries.count; ++t) {
    tries.moved[t] = 0;
    IqSums sums;
    for (uint32_t k = 0; k < run.count / grid.dims; ++k) {
      const float* values = run.values + k * grid.dims;
      uint32_t packed = round_to_levels(grid, values, tries.inverses[t]);
      if (grid.lookup[packed] < 0) {
        tries.moved[t] |= 1u << k;
        packed = nearest_iq_point(grid, packed, values, run.roots + k * grid.dims, tries.scales[t]);
      }
      tries.codes[k][t] = packed;
      add_group(run, grid, k, packed, sums);
    }
    tries.wqx[t] = sums.wqx;
    tries.wqq[t] = sums.wqq;
  }
}

IqFit fit_iq_scale(TryIqScales try_scales, const IqRun& run, const IqGrid& grid, const IqRule& rule,
                   const IqStart& start) {
  IqTries tries;
  tries.count = static_cast<uint32_t>(2 * rule.reach + 1);
  const auto highest = static_cast<float>(2 * grid.levels - 1);
  for (uint32_t t = 0; t < tries.count; ++t) {
    const auto k = static_cast<float>(static_cast<int32_t>(t) - rule.reach);
    tries.inverses[t] = (highest + k * rule.step) / start.largest;
    tries.scales[t] = 1 / tries.inverses[t];
  }
  try_scales(run, grid, tries);
  const uint32_t groups = run.count / grid.dims;
  const uint32_t every = (1u << groups) - 1;
  IqFit fit{start.scale, {}};
  float best = 0;
  uint32_t moved = rule.refines_all ? every : 0;
  for (uint32_t t = 0; t < tries.count; ++t) {
    const float wqx = tries.wqx[t];
    if (!(tries.wqq[t] > 0 && wqx * wqx > best * tries.wqq[t])) continue;
    fit.scale = wqx / tries.wqq[t];
    best = fit.scale * wqx;
    for (uint32_t k = 0; k < groups; ++k) fit.codes[k] = static_cast<uint16_t>(tries.codes[k][t]);
    moved = tries.moved[t];
  }
  if (rule.always || (rule.refines_all && moved != 0)) moved = every;
  if (moved != 0 && fit.scale > 0) refine(try_scales, run, grid, moved, fit);
  // If squares overflow, the original stops; here, the caller rejects an infinite scale.
  if (fit.scale != fit.scale) fit.scale = std::numeric_limits<float>::infinity();
  return fit;
}

}  // namespace ckpt
