// Q3_K: 256 values in 16 sub-blocks of 16, each with a signed 6-bit scale, which a half float
// scales in turn; 3-bit codes. 3.4375 bits per value.
//
// Bytes: BlockQ3K. value = (f32(d) (S - 32)) (q - 4).
// Without weights, the codes of a sub-block are improved one by one from the obvious scale, and the
// scale of largest magnitude becomes S - 32 = -32. With weights w = column weight * sqrt(2 mean
// square of the block + x^2), both the sub-blocks and their 16 scales are searched. The final codes
// are x / (f32(d) (S - 32)) rounded to nearest even, in -4..3.
//
// Note: a sub-block whose scale is 0 keeps the codes of its search, and those of a zero sub-block
// are 0, which represents -4 (times 0). A block is all zero bytes only if no value reaches 1e-15.
// Source of truth: llama.cpp ggml/src/ggml-quants.c (quantize_row_q3_K_ref, _impl).
#include <algorithm>

#include "core/model/float_convert.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/ggml/k/k_feedback.h"
#include "quantizers/ggml/k/k_levels.h"
#include "quantizers/ggml/k/k_quants.h"
#include "quantizers/ggml/scale_search.h"
#include "quantizers/rounding.h"

namespace ckpt {
namespace {

constexpr uint32_t kBlock = 256;
constexpr uint32_t kSub = 16;
constexpr uint32_t kSubs = 16;
constexpr int32_t kTop = 4;  // codes - 4 are -4..3

void encode_block(const float* values, BlockQ3K& out) {
  float scales[kSubs];
  uint8_t codes[kBlock];
  for (uint32_t j = 0; j < kSubs; ++j) {
    scales[j] = fit_signed_stepwise<kSub>(values + kSub * j, kTop, codes + kSub * j);
  }
  const float extreme = find_extreme<kSubs>(scales).value;
  uint8_t levels[kSubs] = {};
  float d = 0;
  if (extreme != 0) {
    const float inverse = -32.0f / extreme;
    d = 1 / inverse;
    for (uint32_t j = 0; j < kSubs; ++j) {
      const auto level = static_cast<int8_t>(round_to_int(inverse * scales[j]));
      levels[j] = static_cast<uint8_t>(std::clamp<int>(level, -32, 31) + 32);
    }
  }
  pack_levels(levels, out);
  out.d = f16_from_float(d);
  finish_codes(values, codes, out);
}

void encode_block_weighted(const float* values, const float* column_weights, BlockQ3K& out) {
  const float variance = 2 * sum_of_squares(values, kBlock) / kBlock;
  float scales[kSubs];
  float sub_weights[kSubs];
  uint8_t codes[kBlock];
  for (uint32_t j = 0; j < kSubs; ++j) {
    float weights[kSub];
    weigh(values + kSub * j, column_weights + kSub * j, variance, kSub, weights);
    sub_weights[j] = 0;
    for (const float weight : weights) sub_weights[j] += weight;
    scales[j] = fit_signed<kSub>(values + kSub * j, weights, kTop, codes + kSub * j);
  }
  uint8_t levels[kSubs];
  out.d = f16_from_float(fit_signed<kSubs>(scales, sub_weights, 32, levels));
  pack_levels(levels, out);
  finish_codes(values, codes, out);
}

}  // namespace

CKPT_SCALAR_ENCODER(encode_q3_k_scalar, BlockQ3K)
CKPT_SCALAR_WEIGHTED_ENCODER(encode_q3_k_weighted_scalar, BlockQ3K)

constinit const Codec kQ3KCodec =
    block_codec<Dtype::kQ3K, BlockQ3K, encode_q3_k, encode_q3_k_weighted, decode_q3_k,
                only_feedback<BlockQ3K>>("3 bits, 16 values a scale of 6 bits; 3.44 bits a value");

}  // namespace ckpt
