// Code shared by IQ2 and IQ3: a block of 256 values has 16 or 8 sub-blocks, each with signs, points
// of a codebook and a scale.
#pragma once

#include <cstdint>

#include "quantizers/ggml/codebook/iq_search.h"

namespace ckpt {

inline constexpr uint32_t kIqBlockValues = 256;
inline constexpr uint32_t kIqMaxSubBlocks = 16;

// Weights of values without an importance matrix, where v is the variance of the block.
enum class IqPlainWeight : uint8_t { kSquare, kSquareAndVariance };  // x^2, x^2 + v / 4

struct IqKind {
  const IqGrid& (*grid)();
  IqRule rule;
  uint32_t run;           // values per sub-block: 16 or 32
  float tiny;             // smaller sub-blocks become zero
  float variance_factor;  // factor of the mean square: 1 or 2
  IqPlainWeight plain_weight;
  bool has_even_signs;      // only seven of eight signs are stored
  bool starts_with_sweeps;  // searches for the scale before varying it
  float scale_factor;       // finally multiplied with d
};

struct IqSubBlock {
  bool is_zero;
  float scale;                    // at least 0
  uint16_t points[kIqMaxGroups];  // indices of points
  uint8_t signs[kIqMaxRun / 8];
};

struct IqBlockFit {
  IqSubBlock subs[kIqMaxSubBlocks];
  float d;                          // as stored, in float; 0 if all scales are
  uint8_t scales[kIqMaxSubBlocks];  // S, 0 to 15
};

// `column_weights` may be null.
IqBlockFit fit_iq_block(TryIqScales try_scales, const IqKind& kind, const float* values,
                        const float* column_weights);

// Stores scale * value of level i * sign in out[i], for the `dims` levels of a point.
struct IqDecodedPoint {
  const float* level_values;
  uint32_t packed;
  uint32_t dims, bits;
  uint32_t signs;  // bit i: sign of value i
};
inline void decode_iq_point(const IqDecodedPoint& point, float scale, float* out) {
  for (uint32_t i = 0; i < point.dims; ++i) {
    const uint32_t level = point.packed >> (point.bits * i) & ((1u << point.bits) - 1);
    const float sign = (point.signs >> i & 1) != 0 ? -1.0f : 1.0f;
    out[i] = scale * point.level_values[level] * sign;
  }
}

// Restores eight signs from the seven stored ones.
inline uint8_t even_signs(uint32_t seven) {
  const uint32_t bits = seven & 127;
  return static_cast<uint8_t>(bits | (static_cast<uint32_t>(__builtin_popcount(bits)) & 1) << 7);
}

}  // namespace ckpt
