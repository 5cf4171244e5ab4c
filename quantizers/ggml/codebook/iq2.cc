// IQ2_XXS, IQ2_XS and IQ2_S: each 8 magnitudes are a point of a codebook of 256, 512 or 1024. Signs
// are stored separately: seven per eight values (an even number is negative), in IQ2_S all eight.
//
// Bytes: BlockIq2Xxs, BlockIq2Xs, BlockIq2S. value = +- f32(d) (S + 0.5) / 4 P, P of 8, 25, 43.
// Search: iq_search.h, with magnitudes about 1, 3, 5 times the scale.
//
// Note: if the number of negative signs is odd, the value that costs least changes its sign.
// Source of truth: llama.cpp ggml/src/ggml-quants.c `quantize_row_iq2_xxs_impl` and its like.
#include <cstring>

#include "core/model/float_convert.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/ggml/codebook/iq_quants.h"
#include "quantizers/ggml/codebook/iq_sub_block.h"
#include "quantizers/ggml/scale_search.h"

namespace ckpt {
namespace {

constexpr float kIq2Values[4] = {8, 25, 43, 0};

constexpr IqKind kIq2XxsKind = {iq2_xxs_grid,
                                {6, 0.1f, true, true},
                                32,
                                kZeroMagnitude,
                                1,
                                IqPlainWeight::kSquare,
                                true,
                                true,
                                1};
constexpr IqKind kIq2XsKind = {iq2_xs_grid,
                               {9, 0.1f, false, false},
                               16,
                               kZeroMagnitude,
                               1,
                               IqPlainWeight::kSquare,
                               true,
                               false,
                               1};
constexpr IqKind kIq2SKind = {iq2_s_grid, {9, 0.1f, false, false},           16,    1e-8f,
                              2,          IqPlainWeight::kSquareAndVariance, false, false,
                              0.9875f};

void pack_iq2_scales(const IqBlockFit& fit, uint8_t (&scales)[8]) {
  for (uint32_t b = 0; b < 8; ++b) {
    scales[b] = static_cast<uint8_t>(fit.scales[2 * b] | fit.scales[2 * b + 1] << 4);
  }
}

}  // namespace

void encode_iq_block(TryIqScales try_scales, const float* values, const float* column_weights,
                     BlockIq2Xxs& out) {
  const IqBlockFit fit = fit_iq_block(try_scales, kIq2XxsKind, values, column_weights);
  std::memset(&out, 0, sizeof out);
  if (fit.d == 0) return;
  out.d = f16_from_float(fit.d);
  for (uint32_t b = 0; b < 8; ++b) {
    const IqSubBlock& sub = fit.subs[b];
    uint32_t points = 0;
    uint32_t signs = uint32_t{fit.scales[b]} << 28;
    for (uint32_t k = 0; k < 4 && !sub.is_zero; ++k) {
      points |= uint32_t{sub.points[k]} << (8 * k);
      signs |= uint32_t{sub.signs[k]} << (7 * k);
    }
    out.codes[2 * b] = points;
    out.codes[2 * b + 1] = signs;
  }
}

void encode_iq_block(TryIqScales try_scales, const float* values, const float* column_weights,
                     BlockIq2Xs& out) {
  const IqBlockFit fit = fit_iq_block(try_scales, kIq2XsKind, values, column_weights);
  std::memset(&out, 0, sizeof out);
  if (fit.d == 0) return;
  out.d = f16_from_float(fit.d);
  pack_iq2_scales(fit, out.scales);
  for (uint32_t i = 0; i < 32; ++i) {
    const IqSubBlock& sub = fit.subs[i / 2];
    if (sub.is_zero) continue;
    out.codes[i] = static_cast<uint16_t>(sub.points[i % 2] | sub.signs[i % 2] << 9);
  }
}

void encode_iq_block(TryIqScales try_scales, const float* values, const float* column_weights,
                     BlockIq2S& out) {
  const IqBlockFit fit = fit_iq_block(try_scales, kIq2SKind, values, column_weights);
  std::memset(&out, 0, sizeof out);
  out.d = f16_from_float(fit.d);
  pack_iq2_scales(fit, out.scales);
  for (uint32_t i = 0; i < 32; ++i) {
    const IqSubBlock& sub = fit.subs[i / 2];
    if (sub.is_zero) continue;
    const uint32_t point = sub.points[i % 2];
    out.codes[i] = static_cast<uint8_t>(point);
    out.high[i / 4] = static_cast<uint8_t>(out.high[i / 4] | (point >> 8) << (2 * (i % 4)));
    out.signs[i] = sub.signs[i % 2];
  }
}

namespace {

// Returns S + 0.5 quarters of d.
float iq2_scale(uint16_t d, uint32_t level) {
  return float_from_f16(d) * (0.5f + static_cast<float>(level)) * 0.25f;
}

void decode_iq2_group(uint32_t packed, uint32_t signs, float scale, float* out) {
  decode_iq_point({kIq2Values, packed, 8, 2, signs}, scale, out);
}

}  // namespace

void decode_iq2_xxs_scalar(const BlockIq2Xxs* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, ++in) {
    for (uint32_t sub = 0; sub < 8; ++sub) {
      const uint32_t points = in->codes[2 * sub];
      const uint32_t signs = in->codes[2 * sub + 1];
      const float scale = iq2_scale(in->d, signs >> 28);
      for (uint32_t k = 0; k < 4; ++k, values += 8) {
        decode_iq2_group(kIq2XxsPoints[points >> (8 * k) & 255], even_signs(signs >> (7 * k)),
                         scale, values);
      }
    }
  }
}

void decode_iq2_xs_scalar(const BlockIq2Xs* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, ++in) {
    for (uint32_t i = 0; i < 32; ++i, values += 8) {
      const uint32_t code = in->codes[i];
      const float scale = iq2_scale(in->d, in->scales[i / 4] >> (i / 2 % 2 * 4) & 15);
      decode_iq2_group(kIq2XsPoints[code & 511], even_signs(code >> 9), scale, values);
    }
  }
}

void decode_iq2_s_scalar(const BlockIq2S* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, ++in) {
    for (uint32_t i = 0; i < 32; ++i, values += 8) {
      const uint32_t high = in->high[i / 4] >> (2 * (i % 4)) & 3;
      const float scale = iq2_scale(in->d, in->scales[i / 4] >> (i / 2 % 2 * 4) & 15);
      decode_iq2_group(kIq2SPoints[in->codes[i] | high << 8], in->signs[i], scale, values);
    }
  }
}

constinit const Codec kIq2XxsCodec =
    block_codec<Dtype::kIq2Xxs, BlockIq2Xxs, encode_iq_blocks<try_iq_scales, BlockIq2Xxs>,
                encode_iq_rows_weighted<try_iq_scales, BlockIq2Xxs>, decode_iq2_xxs_scalar>(
        "8 values a point of 256, 32 a scale; 2.06 bits a value");
constinit const Codec kIq2XsCodec =
    block_codec<Dtype::kIq2Xs, BlockIq2Xs, encode_iq_blocks<try_iq_scales, BlockIq2Xs>,
                encode_iq_rows_weighted<try_iq_scales, BlockIq2Xs>, decode_iq2_xs_scalar>(
        "8 values a point of 512, 16 a scale; 2.31 bits a value");
constinit const Codec kIq2SCodec =
    block_codec<Dtype::kIq2S, BlockIq2S, encode_iq_blocks<try_iq_scales, BlockIq2S>,
                encode_iq_rows_weighted<try_iq_scales, BlockIq2S>, decode_iq2_s_scalar>(
        "8 values a point of 1024, 16 a scale; 2.56 bits a value");

}  // namespace ckpt
