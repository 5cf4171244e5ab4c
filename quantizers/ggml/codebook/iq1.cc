// IQ1_S and IQ1_M: each 8 values are a point of a codebook of 2048 with levels -1, 0 and 1, shifted
// by 1/8 up or down. IQ1_S: 32 values share a scale and a shift; IQ1_M: 16 a scale, 8 a shift.
//
// Bytes: BlockIq1S, BlockIq1M. value = f32(d) (2 S + 1) (P +- 1/8).
// Search: iq1_search.h. Groups whose levels are not a point then move to the near point with the
// lowest error, and the scale is solved for again. IQ1_M finally solves for d.
// Source of truth: llama.cpp ggml/src/ggml-quants.c `quantize_row_iq1_s_impl`, `_iq1_m_impl`.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/model/float_convert.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/ggml/codebook/iq_quants.h"
#include "quantizers/ggml/scale_search.h"
#include "quantizers/rounding.h"

namespace ckpt {
namespace {

constexpr uint32_t kIq1Values = 8;
constexpr float kIq1STiny = 1e-12f;
constexpr float kIq1MTiny = 1e-7f;

struct Iq1Sub {
  float scale;  // at least 0
  uint16_t points[4];
  uint32_t down;  // bit k: group k is shifted down
};

struct Iq1Run {
  uint32_t count;  // 32 or 16
  const float* values;
  const float* weights;
};

const Iq1Levels& levels_of(const Iq1Sub& sub, uint32_t group) {
  return (sub.down >> group & 1) != 0 ? kIq1Down : kIq1Up;
}

// Sorts the indices by value, the smallest first; equal values keep their order.
void sort_run(const Iq1Run& run, uint32_t* order) {
  for (uint32_t i = 0; i < run.count; ++i) {
    uint32_t at = i;
    for (; at > 0 && run.values[order[at - 1]] > run.values[i]; --at) order[at] = order[at - 1];
    order[at] = i;
  }
}

Iq1Sums sum_run(const Iq1Run& run, const uint32_t* order) {
  Iq1Sums sums = {};
  sums.count = run.count;
  sums.wx[0][0] = sums.wx[1][0] = sums.w[0][0] = sums.w[1][0] = 0;
  for (uint32_t j = 0; j < run.count; ++j) {
    const uint32_t i = order[j];
    const uint32_t half = run.count == 16 && i >= 8 ? 1 : 0;
    sums.wx[half][j + 1] = sums.wx[half][j] + run.weights[i] * run.values[i];
    sums.wx[1 - half][j + 1] = sums.wx[1 - half][j];
    sums.w[half][j + 1] = sums.w[half][j] + run.weights[i];
    sums.w[1 - half][j + 1] = sums.w[1 - half][j];
  }
  return sums;
}

// The sums of (w q) x and (w q) q for one group, where q is `factor` times its levels.
struct Iq1Fit {
  float wqx = 0;
  float wqq = 0;
  void add(const Iq1Run& run, uint32_t group, const Iq1Sub& sub, float factor) {
    const uint32_t packed = kIq1Points[sub.points[group]];
    for (uint32_t i = 0; i < kIq1Values; ++i) {
      const float weight = run.weights[kIq1Values * group + i];
      const float q = levels_of(sub, group).value[packed >> (2 * i) & 3] * factor;
      wqx += weight * q * run.values[kIq1Values * group + i];
      wqq += weight * q * q;
    }
  }
};

// Sets the points for levels (0, 1, 2). Returns true if one was replaced by a near point.
bool find_points(const Iq1Search& search, const Iq1Run& run, const uint32_t* levels, Iq1Sub& sub) {
  const IqGrid& grid = iq1_grid();
  bool moved = false;
  for (uint32_t k = 0; k < run.count / kIq1Values; ++k) {
    uint32_t packed = 0;
    for (uint32_t i = 0; i < kIq1Values; ++i) packed |= levels[kIq1Values * k + i] << (2 * i);
    if (grid.lookup[packed] < 0) {
      moved = true;
      packed =
          search.nearest(grid, packed, {run.values + kIq1Values * k, run.weights + kIq1Values * k},
                         sub.scale, levels_of(sub, k));
    }
    sub.points[k] = static_cast<uint16_t>(grid.lookup[packed]);
  }
  return moved;
}

Iq1Sub fit_iq1_sub(const Iq1Search& search, const Iq1Run& run, float tiny) {
  Iq1Sub sub{};
  float largest = 0;
  for (uint32_t i = 0; i < run.count; ++i) largest = std::max(largest, std::fabs(run.values[i]));
  if (largest < tiny) return sub;
  uint32_t order[kIq1MaxRun];
  sort_run(run, order);
  const Iq1Sums sums = sum_run(run, order);
  const Iq1Cut cut = run.count == 32 ? search.cut_32(sums) : search.cut_16(sums);
  if (!cut.found) return sub;
  const bool negative = cut.scale < 0;
  uint32_t levels[kIq1MaxRun];
  for (uint32_t j = 0; j < run.count; ++j) {
    const uint32_t level = j < cut.first ? 0 : j < cut.second ? 1 : 2;
    levels[order[j]] = negative ? 2 - level : level;
  }
  sub.scale = negative ? -cut.scale : cut.scale;
  sub.down = negative ? cut.down ^ 3 : cut.down;
  if (run.count == 32 && sub.down != 0) sub.down = 15;
  if (find_points(search, run, levels, sub)) {
    Iq1Fit fit;
    for (uint32_t k = 0; k < run.count / kIq1Values; ++k) fit.add(run, k, sub, 1);
    if (fit.wqx > 0 && fit.wqq > 0) sub.scale = fit.wqx / fit.wqq;
  }
  // If squares overflow, the original stops; here, the caller rejects an infinite scale.
  if (std::isnan(sub.scale)) sub.scale = std::numeric_limits<float>::infinity();
  return sub;
}

void weigh_iq1(const float* values, const float* column_weights, float* out) {
  if (column_weights != nullptr) {
    const float variance = 2 * sum_of_squares(values, 256) / 256;
    weigh(values, column_weights, variance, 256, out);
  } else {
    for (uint32_t i = 0; i < 256; ++i) out[i] = values[i] * values[i];
  }
}

uint32_t iq1_scale_level(float inverse, float scale) {
  return static_cast<uint32_t>(round_and_clamp(0.5f * (inverse * scale - 1), 0, 7));
}

}  // namespace

void encode_iq_block(const Iq1Search* search, const float* values, const float* column_weights,
                     BlockIq1S& out) {
  float weights[256];
  weigh_iq1(values, column_weights, weights);
  std::memset(&out, 0, sizeof out);
  Iq1Sub subs[8];
  float largest = 0;
  for (uint32_t b = 0; b < 8; ++b) {
    subs[b] = fit_iq1_sub(*search, {32, values + 32 * b, weights + 32 * b}, kIq1STiny);
    largest = std::max(largest, subs[b].scale);
    for (uint32_t k = 0; k < 4; ++k) {
      out.codes[4 * b + k] = static_cast<uint8_t>(subs[b].points[k]);
      out.high[b] = static_cast<uint16_t>(out.high[b] | (subs[b].points[k] >> 8) << (3 * k));
    }
  }
  if (largest == 0) return;
  const float d = largest / 15;
  out.d = f16_from_float(d * 1.125f);
  for (uint32_t b = 0; b < 8; ++b) {
    const uint32_t down = subs[b].down != 0 ? 8 : 0;
    const uint32_t level = iq1_scale_level(1 / d, subs[b].scale) | down;
    out.high[b] = static_cast<uint16_t>(out.high[b] | level << 12);
  }
}

void encode_iq_block(const Iq1Search* search, const float* values, const float* column_weights,
                     BlockIq1M& out) {
  float weights[256];
  weigh_iq1(values, column_weights, weights);
  std::memset(&out, 0, sizeof out);
  Iq1Sub subs[16];
  float largest = 0;
  for (uint32_t b = 0; b < 16; ++b) {
    subs[b] = fit_iq1_sub(*search, {16, values + 16 * b, weights + 16 * b}, kIq1MTiny);
    largest = std::max(largest, subs[b].scale);
    out.codes[2 * b] = static_cast<uint8_t>(subs[b].points[0]);
    out.codes[2 * b + 1] = static_cast<uint8_t>(subs[b].points[1]);
    out.high[b] = static_cast<uint8_t>(subs[b].points[0] >> 8 | subs[b].points[1] >> 8 << 4);
  }
  if (largest == 0) return;
  float d = largest / 15;
  Iq1Fit fit;
  for (uint32_t b = 0; b < 16; ++b) {
    const uint32_t level = iq1_scale_level(1 / (largest / 15), subs[b].scale);
    out.scales[b / 4] = static_cast<uint16_t>(out.scales[b / 4] | level << (3 * (b % 4)));
    const uint32_t down = (subs[b].down & 1) << 3 | (subs[b].down >> 1 & 1) << 7;
    out.high[b] = static_cast<uint8_t>(out.high[b] | down);
    const Iq1Run run = {16, values + 16 * b, weights + 16 * b};
    for (uint32_t k = 0; k < 2; ++k) fit.add(run, k, subs[b], static_cast<float>(2 * level + 1));
  }
  if (fit.wqq > 0) d = fit.wqx / fit.wqq;
  const uint32_t half = f16_from_float(d * 1.1125f);
  for (uint32_t i = 0; i < 4; ++i) {
    out.scales[i] = static_cast<uint16_t>(out.scales[i] | (half >> (4 * i) & 15) << 12);
  }
}

namespace {

void decode_iq1_group(uint32_t point, bool down, float scale, float* out) {
  const uint32_t packed = kIq1Points[point];
  const float move = down ? -kIq1Move : kIq1Move;
  for (uint32_t i = 0; i < kIq1Values; ++i) {
    out[i] = scale * (static_cast<float>(packed >> (2 * i) & 3) - 1 + move);
  }
}

}  // namespace

void decode_iq1_s_scalar(const BlockIq1S* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, ++in) {
    for (uint32_t i = 0; i < 32; ++i, values += kIq1Values) {
      const uint32_t high = in->high[i / 4];
      const float scale = float_from_f16(in->d) * static_cast<float>(2 * (high >> 12 & 7) + 1);
      const uint32_t point = in->codes[i] | (high >> (3 * (i % 4)) & 7) << 8;
      decode_iq1_group(point, (high & 0x8000) != 0, scale, values);
    }
  }
}

void decode_iq1_m_scalar(const BlockIq1M* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, ++in) {
    const float d = float_from_f16(in->half_d());
    for (uint32_t i = 0; i < 32; ++i, values += kIq1Values) {
      const uint32_t level = in->scales[i / 8] >> (3 * (i / 2 % 4)) & 7;
      const uint32_t high = in->high[i / 2] >> (4 * (i % 2));
      decode_iq1_group(in->codes[i] | (high & 7) << 8, (high & 8) != 0,
                       d * static_cast<float>(2 * level + 1), values);
    }
  }
}

constinit const Codec kIq1SCodec =
    block_codec<Dtype::kIq1S, BlockIq1S, encode_iq_blocks<&kIq1VectorSearch, BlockIq1S>,
                encode_iq_rows_weighted<&kIq1VectorSearch, BlockIq1S>, decode_iq1_s_scalar>(
        "8 values a point of 2048, 32 a scale; 1.56 bits a value");
constinit const Codec kIq1MCodec =
    block_codec<Dtype::kIq1M, BlockIq1M, encode_iq_blocks<&kIq1VectorSearch, BlockIq1M>,
                encode_iq_rows_weighted<&kIq1VectorSearch, BlockIq1M>, decode_iq1_m_scalar>(
        "8 values a point of 2048, 16 a scale; 1.75 bits a value");

}  // namespace ckpt
