// IQ3_XXS and IQ3_S: each 4 magnitudes are a point of a codebook of 256 or 512. Signs are stored
// separately: seven per eight values (an even number is negative), in IQ3_S all eight.
//
// Bytes: BlockIq3Xxs, BlockIq3S. value = +- f32(d) (S + 0.5) / 2 P, and +- f32(d) (2 S + 1) P.
// Search: iq_search.h, with magnitudes about 1, 3, .. 15 times the scale.
//
// Note: a sub-block of IQ3_S whose values are all zero stores neither points nor signs, and those
// of later sub-blocks move up without any mark, so that they decode to wrong places. llama.cpp
// writes and reads the type in this way.
// Source of truth: llama.cpp ggml/src/ggml-quants.c `quantize_row_iq3_s_impl` and its like.
#include <cstring>
#include <limits>

#include "core/model/float_convert.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/ggml/codebook/iq_quants.h"
#include "quantizers/ggml/codebook/iq_sub_block.h"

namespace ckpt {
namespace {

constexpr float kIq3XxsValues[8] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr float kIq3SValues[8] = {1, 3, 5, 7, 9, 11, 13, 15};

constexpr IqKind kIq3XxsKind = {
    iq3_xxs_grid, {15, 0.2f, false, false}, 32, 1e-8f, 2, IqPlainWeight::kSquare, true, false,
    1.0125f};
constexpr IqKind kIq3SKind = {
    iq3_s_grid, {9, 0.2f, true, false}, 32,    std::numeric_limits<float>::denorm_min(),
    2,          IqPlainWeight::kSquare, false, false,
    1.033f};

}  // namespace

void encode_iq_block(TryIqScales try_scales, const float* values, const float* column_weights,
                     BlockIq3Xxs& out) {
  const IqBlockFit fit = fit_iq_block(try_scales, kIq3XxsKind, values, column_weights);
  std::memset(&out, 0, sizeof out);
  if (fit.d == 0) return;
  out.d = f16_from_float(fit.d);
  for (uint32_t b = 0; b < 8; ++b) {
    const IqSubBlock& sub = fit.subs[b];
    uint32_t signs = static_cast<uint32_t>(fit.scales[b]) << 28;
    for (uint32_t k = 0; !sub.is_zero && k < 8; ++k) {
      out.codes[8 * b + k] = static_cast<uint8_t>(sub.points[k]);
      if (k < 4) signs |= static_cast<uint32_t>(sub.signs[k]) << (7 * k);
    }
    out.signs_scale[b] = signs;
  }
}

void encode_iq_block(TryIqScales try_scales, const float* values, const float* column_weights,
                     BlockIq3S& out) {
  const IqBlockFit fit = fit_iq_block(try_scales, kIq3SKind, values, column_weights);
  std::memset(&out, 0, sizeof out);
  out.d = f16_from_float(fit.d);
  uint32_t place = 0;  // number of sub-blocks that stored something
  for (uint32_t b = 0; b < 8; ++b) {
    const IqSubBlock& sub = fit.subs[b];
    out.scales[b / 2] = static_cast<uint8_t>(out.scales[b / 2] | fit.scales[b] << (b % 2 * 4));
    if (sub.is_zero) continue;
    for (uint32_t k = 0; k < 8; ++k) {
      out.codes[8 * place + k] = static_cast<uint8_t>(sub.points[k]);
      out.high[b] = static_cast<uint8_t>(out.high[b] | (sub.points[k] >> 8) << k);
      if (k < 4) out.signs[4 * place + k] = sub.signs[k];
    }
    ++place;
  }
}

void decode_iq3_xxs_scalar(const BlockIq3Xxs* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, ++in) {
    for (uint32_t i = 0; i < 64; ++i, values += 4) {
      const uint32_t word = in->signs_scale[i / 8];
      const float scale = float_from_f16(in->d) * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
      const uint32_t signs = even_signs(word >> (7 * (i / 2 % 4)));
      decode_iq_point({kIq3XxsValues, kIq3XxsPoints[in->codes[i]], 4, 3, signs >> (i % 2 * 4)},
                      scale, values);
    }
  }
}

void decode_iq3_s_scalar(const BlockIq3S* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, ++in) {
    for (uint32_t i = 0; i < 64; ++i, values += 4) {
      const uint32_t level = in->scales[i / 16] >> (i / 8 % 2 * 4) & 15;
      const float scale = float_from_f16(in->d) * static_cast<float>(1 + 2 * level);
      const uint32_t high = in->high[i / 8] >> (i % 8) & 1;
      const uint32_t signs = in->signs[i / 2];
      decode_iq_point(
          {kIq3SValues, kIq3SPoints[in->codes[i] | high << 8], 4, 3, signs >> (i % 2 * 4)}, scale,
          values);
    }
  }
}

constinit const Codec kIq3XxsCodec =
    block_codec<Dtype::kIq3Xxs, BlockIq3Xxs, encode_iq_blocks<try_iq_scales, BlockIq3Xxs>,
                encode_iq_rows_weighted<try_iq_scales, BlockIq3Xxs>, decode_iq3_xxs_scalar>(
        "4 values a point of 256, 32 a scale; 3.06 bits a value");
constinit const Codec kIq3SCodec =
    block_codec<Dtype::kIq3S, BlockIq3S, encode_iq_blocks<try_iq_scales, BlockIq3S>,
                encode_iq_rows_weighted<try_iq_scales, BlockIq3S>, decode_iq3_s_scalar>(
        "4 values a point of 512, 32 a scale; 3.44 bits a value");

}  // namespace ckpt
