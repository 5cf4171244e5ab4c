// Shared by IQ2 and IQ3: 256 values are 16 or 8 sub-blocks of signs, points of a codebook
// and a scale.
#pragma once

#include <cstdint>

#include "quantizers/ggml/codebook/iq_search.h"

namespace ckpt {

inline constexpr uint32_t kIqBlockValues = 256;
inline constexpr uint32_t kIqMaxSubBlocks = 16;

// Weights of values without an importance matrix, v being the variance of the block.
enum class IqPlainWeight : uint8_t { kSquare, kSquareAndVariance };  // x^2, x^2 + v / 4

struct IqKind {
  const IqGrid& (*grid)();
  IqRule rule;
  uint32_t run;           // values of a sub-block: 16 or 32
  float tiny;             // sub-blocks whose largest magnitude is below are zero
  float variance_factor;  // of the mean square: 1 or 2
  IqPlainWeight plain_weight;
  bool has_even_signs;      // seven signs are stored of eight
  bool starts_with_sweeps;  // the scale that is varied is itself searched for
  float scale_factor;       // d is multiplied with it in the end
};

struct IqSubBlock {
  bool is_zero;
  float scale;                    // at least 0
  uint16_t points[kIqMaxGroups];  // numbers of points
  uint8_t signs[kIqMaxRun / 8];
};

struct IqBlockFit {
  IqSubBlock subs[kIqMaxSubBlocks];
  float d;                          // as it is stored, in float; 0 when all scales are
  uint8_t scales[kIqMaxSubBlocks];  // S, 0 to 15
};

// `column_weights` may be null.
IqBlockFit fit_iq_block(TryIqScales try_scales, const IqKind& kind, const float* values,
                        const float* column_weights);

// out[i] = scale * value of level i * sign, for `dims` levels of a point.
struct IqDecodedPoint {
  const float* level_values;
  uint32_t packed;
  uint32_t dims, bits;
  uint32_t signs;  // bit i
};
inline void decode_iq_point(const IqDecodedPoint& point, float scale, float* out) {
  for (uint32_t i = 0; i < point.dims; ++i) {
    const uint32_t level = point.packed >> (point.bits * i) & ((1u << point.bits) - 1);
    const float sign = (point.signs >> i & 1) != 0 ? -1.0f : 1.0f;
    out[i] = scale * point.level_values[level] * sign;
  }
}

// Eight signs of the seven that are stored.
inline uint8_t even_signs(uint32_t seven) {
  const uint32_t bits = seven & 127;
  return static_cast<uint8_t>(bits | (static_cast<uint32_t>(__builtin_popcount(bits)) & 1) << 7);
}

}  // namespace ckpt
