// IQ4_NL and IQ4_XS: 4-bit codes index 16 unevenly spaced numbers T, which are denser near zero.
// IQ4_NL scales 32 values by a half float (4.5 bits per value); IQ4_XS scales 8 sub-blocks of 32 by
// 6 bits and these by a half float (4.25 bits per value).
//
// Bytes: BlockIq4Nl, BlockIq4Xs. value = d T[q], and (f32(d) (S - 32)) T[q].
// The search tries 16 scales around the one that maps the value of largest magnitude to T[0], and
// takes the one with the least sum of weighted squared errors. The weight of a value x is x^2; with
// an importance matrix it is the column's importance times
// sqrt(2 (mean square of the block) + x^2).
// A code is the nearest entry of T; of two that are equally near, the upper one.
//
// Note: final codes use the float scale, not the rounded half. A zero
// IQ4_NL block has d = 0 and codes 8 (T = 1 is nearest to 0).
// Source of truth: llama.cpp ggml/src/ggml-quants.c `quantize_row_iq4_nl_impl`.
#include "quantizers/ggml/codebook/iq4.h"

#include "core/model/float_convert.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/ggml/scale_search.h"
#include "quantizers/rounding.h"

namespace ckpt {
namespace {

constexpr uint32_t kSub = kIq4Values;
constexpr uint32_t kSubs = 8;  // in IQ4_XS

uint8_t nearest_code(float value) {
  if (value <= static_cast<float>(kIq4Table[0])) return 0;
  if (value >= static_cast<float>(kIq4Table[15])) return 15;
  uint8_t low = 0;
  uint8_t high = 15;
  while (high - low > 1) {
    const auto middle = static_cast<uint8_t>((low + high) / 2);
    (value < static_cast<float>(kIq4Table[middle]) ? high : low) = middle;
  }
  const float below = value - static_cast<float>(kIq4Table[low]);
  return below < static_cast<float>(kIq4Table[high]) - value ? low : high;
}

float fit_scale(const Iq4Search& search, const float* values, const float* weights) {
  constexpr auto kFirst = static_cast<float>(kIq4Table[0]);
  const auto [largest, extreme] = find_extreme<kSub>(values);
  if (largest < kZeroMagnitude) return 0;
  float inverses[kIq4Tries] = {1 / (-extreme / kFirst)};
  for (int k = -7; k <= 7; ++k) inverses[k + 8] = (static_cast<float>(k) + kFirst) / extreme;
  Iq4Sums sums;
  search.sum(values, weights, inverses, sums);
  float scale = sums.wqq[0] > 0 ? sums.wqx[0] / sums.wqq[0] : 0.0f;
  float best = scale * sums.wqx[0];
  for (uint32_t i = 1; i < kIq4Tries; ++i) {
    const float wqx = sums.wqx[i];
    if (sums.wqq[i] > 0 && wqx * wqx > best * sums.wqq[i]) {
      scale = wqx / sums.wqq[i];
      best = scale * wqx;
    }
  }
  return scale;
}

// Encodes 32 values. column_weights may be null; only they require `variance`.
struct SubBlock {
  const float* values;
  const float* column_weights;
  float variance;
};
float fit_sub_block(const Iq4Search& search, const SubBlock& block) {
  float weights[kSub];
  if (block.column_weights != nullptr) {
    weigh(block.values, block.column_weights, block.variance, kSub, weights);
  } else {
    for (uint32_t i = 0; i < kSub; ++i) weights[i] = block.values[i] * block.values[i];
  }
  return fit_scale(search, block.values, weights);
}

// Packs codes into 16 bytes.
void pack_codes(const Iq4Search& search, const float* values, float inverse, uint8_t* out) {
  uint8_t codes[kSub];
  search.find_codes(values, inverse, codes);
  for (uint32_t j = 0; j < 16; ++j) out[j] = static_cast<uint8_t>(codes[j] | codes[j + 16] << 4);
}

void decode_codes(const uint8_t* codes, float scale, float* values) {
  for (uint32_t j = 0; j < 16; ++j) {
    values[j] = scale * static_cast<float>(kIq4Table[codes[j] & 15]);
    values[j + 16] = scale * static_cast<float>(kIq4Table[codes[j] >> 4]);
  }
}

}  // namespace

void sum_iq4_scalar(const float* values, const float* weights, const float* inverses,
                    Iq4Sums& out) {
  for (size_t at = 0; at < kIq4Tries; ++at) {
    float wqx = 0;
    float wqq = 0;
    for (uint32_t i = 0; i < kSub; ++i) {
      const auto q = static_cast<float>(kIq4Table[nearest_code(inverses[at] * values[i])]);
      wqx += weights[i] * q * values[i];
      wqq += weights[i] * q * q;
    }
    out.wqx[at] = wqx;
    out.wqq[at] = wqq;
  }
}
void find_iq4_codes_scalar(const float* values, float inverse, uint8_t* codes) {
  for (uint32_t i = 0; i < kSub; ++i) codes[i] = nearest_code(inverse * values[i]);
}

void encode_iq_block(const Iq4Search* search, const float* values, const float* column_weights,
                     BlockIq4Nl& out) {
  const float variance = sum_of_squares(values, kSub) * (2.0f / 32);
  const float scale = fit_sub_block(*search, {values, column_weights, variance});
  out.d = f16_from_float(scale);
  pack_codes(*search, values, scale != 0 ? 1 / scale : 0.0f, out.codes);
}

void encode_iq_block(const Iq4Search* search, const float* values, const float* column_weights,
                     BlockIq4Xs& out) {
  const float variance = sum_of_squares(values, kSub * kSubs) * (2.0f / 256);
  float scales[kSubs];
  for (uint32_t j = 0; j < kSubs; ++j) {
    const float* sub_weights = column_weights == nullptr ? nullptr : column_weights + kSub * j;
    scales[j] = fit_sub_block(*search, {values + kSub * j, sub_weights, variance});
  }
  const float d = -find_extreme<kSubs>(scales).value / 32;
  const float inverse = d != 0 ? 1 / d : 0.0f;
  out.d = f16_from_float(d);
  uint32_t high = 0;
  for (uint32_t j = 0; j < kSubs; ++j) {
    const int32_t level = round_and_clamp(inverse * scales[j], -32, 31);
    const float scale = d * static_cast<float>(level);
    pack_codes(*search, values + kSub * j, scale != 0 ? 1 / scale : 0.0f, out.codes + 16 * j);
    const auto stored = static_cast<uint32_t>(level + 32);
    const auto low = static_cast<uint8_t>((stored & 15) << (j % 2 * 4));
    out.scales_low[j / 2] = j % 2 == 0 ? low : static_cast<uint8_t>(out.scales_low[j / 2] | low);
    high |= (stored >> 4) << (2 * j);
  }
  out.scales_high = static_cast<uint16_t>(high);
}

void decode_iq4_nl_scalar(const BlockIq4Nl* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, values += kSub) {
    decode_codes(in[b].codes, float_from_f16(in[b].d), values);
  }
}

void decode_iq4_xs_scalar(const BlockIq4Xs* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, ++in) {
    const float d = float_from_f16(in->d);
    for (uint32_t j = 0; j < kSubs; ++j, values += kSub) {
      const int low = in->scales_low[j / 2] >> (j % 2 * 4) & 15;
      const int level = (low | (in->scales_high >> (2 * j) & 3) << 4) - 32;
      decode_codes(in->codes + 16 * j, d * static_cast<float>(level), values);
    }
  }
}

constinit const Codec kIq4NlCodec =
    block_codec<Dtype::kIq4Nl, BlockIq4Nl, encode_iq_blocks<&kIq4VectorSearch, BlockIq4Nl>,
                encode_iq_rows_weighted<&kIq4VectorSearch, BlockIq4Nl>, decode_iq4_nl_scalar>(
        "4 bits by table, 32 values a scale; 4.5 bits a value");
constinit const Codec kIq4XsCodec =
    block_codec<Dtype::kIq4Xs, BlockIq4Xs, encode_iq_blocks<&kIq4VectorSearch, BlockIq4Xs>,
                encode_iq_rows_weighted<&kIq4VectorSearch, BlockIq4Xs>, decode_iq4_xs_scalar>(
        "4 bits by table, 32 values a scale of 6 bits; 4.25 bits a value");

}  // namespace ckpt
