#include "quantizers/ggml/codebook/iq_sub_block.h"

#include <cmath>

#include "quantizers/ggml/scale_search.h"
#include "quantizers/rounding.h"

namespace ckpt {
namespace {

constexpr uint32_t kSignGroup = 8;

// The index of the value whose change of sign costs least.
uint32_t cheapest_to_flip(const float* values, const float* weights) {
  uint32_t best = 0;
  float least = weights[0] * values[0] * values[0];
  for (uint32_t i = 1; i < kSignGroup; ++i) {
    const float cost = weights[i] * values[i] * values[i];
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}

// Stores the magnitudes of eight values and returns their signs. If the number of negative signs
// must be even, one magnitude may become negative.
uint8_t split_signs(const float* values, const float* weights, bool even, float* magnitudes) {
  uint32_t signs = 0;
  for (uint32_t i = 0; i < kSignGroup; ++i) {
    const bool negative = !(values[i] >= 0);
    magnitudes[i] = negative ? -values[i] : values[i];
    signs |= (negative ? 1u : 0u) << i;
  }
  if (even && __builtin_popcount(signs) % 2 != 0) {
    const uint32_t flipped = cheapest_to_flip(values, weights);
    magnitudes[flipped] = -magnitudes[flipped];
    signs ^= 1u << flipped;
  }
  return static_cast<uint8_t>(even ? signs & 127 : signs);
}

void weigh_plainly(IqPlainWeight how, const float* values, float variance, uint32_t count,
                   float* out) {
  for (uint32_t i = 0; i < count; ++i) {
    const float square = values[i] * values[i];
    out[i] = how == IqPlainWeight::kSquare ? square : 0.25f * variance + square;
  }
}

struct IqSubInput {
  const float* values;
  const float* column_weights;
  float variance;
};

// The scale at which tries start; its `largest` is 0 for a sub-block of zeros.
IqStart start_of(const IqKind& kind, const IqRun& run) {
  float largest = run.values[0];
  for (uint32_t i = 1; i < run.count; ++i) {
    largest = largest > run.values[i] ? largest : run.values[i];
  }
  if (largest < kind.tiny) return {0, 0};
  const auto levels = static_cast<int32_t>(kind.grid().levels);
  if (!kind.starts_with_sweeps) return {largest / static_cast<float>(2 * levels - 1), largest};
  uint8_t codes[kIqMaxRun];
  const float scale = fit_positive<kIqMaxRun>(run.values, run.weights, levels + 1, codes);
  const float reached = scale * static_cast<float>(levels);
  return reached <= 0 ? IqStart{0, 0} : IqStart{scale, reached};
}

IqSubBlock fit_iq_sub_block(TryIqScales try_scales, const IqKind& kind, const IqSubInput& input) {
  float weights[kIqMaxRun], roots[kIqMaxRun], magnitudes[kIqMaxRun];
  if (input.column_weights != nullptr) {
    weigh(input.values, input.column_weights, input.variance, kind.run, weights);
  } else {
    weigh_plainly(kind.plain_weight, input.values, input.variance, kind.run, weights);
  }
  for (uint32_t i = 0; i < kind.run; ++i) roots[i] = std::sqrt(weights[i]);
  IqSubBlock out{};
  for (uint32_t i = 0; i < kind.run; i += kSignGroup) {
    out.signs[i / kSignGroup] =
        split_signs(input.values + i, weights + i, kind.has_even_signs, magnitudes + i);
  }
  const IqRun run = {kind.run, magnitudes, weights, roots};
  const IqGrid& grid = kind.grid();
  const IqStart start = start_of(kind, run);
  out.is_zero = start.largest == 0;
  if (out.is_zero) return out;
  const IqFit fit = fit_iq_scale(try_scales, run, grid, kind.rule, start);
  out.scale = fit.scale;
  if (fit.scale < 0) {
    out.scale = -fit.scale;
    for (uint8_t& signs : out.signs) signs ^= kind.has_even_signs ? 127 : 255;
  }
  for (uint32_t k = 0; k < kind.run / grid.dims; ++k) {
    out.points[k] = static_cast<uint16_t>(grid.lookup[fit.codes[k]]);
  }
  return out;
}

}  // namespace

IqBlockFit fit_iq_block(TryIqScales try_scales, const IqKind& kind, const float* values,
                        const float* column_weights) {
  const float squares = sum_of_squares(values, kIqBlockValues);
  const float variance = kind.variance_factor * squares / static_cast<float>(kIqBlockValues);
  IqBlockFit out{};
  float largest = 0;
  const uint32_t subs = kIqBlockValues / kind.run;
  for (uint32_t b = 0; b < subs; ++b) {
    const uint32_t at = b * kind.run;
    const float* weights = column_weights == nullptr ? nullptr : column_weights + at;
    out.subs[b] = fit_iq_sub_block(try_scales, kind, {values + at, weights, variance});
    largest = largest > out.subs[b].scale ? largest : out.subs[b].scale;
  }
  if (largest == 0) return out;
  const float d = largest / 31;
  const float inverse = 1 / d;
  for (uint32_t b = 0; b < subs; ++b) {
    const float steps = 0.5f * (inverse * out.subs[b].scale - 1);
    out.scales[b] = static_cast<uint8_t>(round_and_clamp(steps, 0, 15));
  }
  out.d = d * kind.scale_factor;
  return out;
}

}  // namespace ckpt
