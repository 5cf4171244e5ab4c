// Q2_K: 256 values in 16 sub-blocks of 16, each with a 4-bit scale and minimum, which two half
// floats scale in turn; 2-bit codes. 2.625 bits per value.
//
// Bytes: BlockQ2K. value = (f32(d) S) q - (f32(dmin) M), each product rounded.
// Without weights, |x| is a value's weight and the search minimizes the absolute error; d and dmin
// are the largest scale and minimum / 15. With weights w = column weight * sqrt(mean square of the
// block + x^2), it minimizes the squared error, and d and dmin come from a search over the 16
// scales and minimums.
//
// Note: a sub-block whose f32(d) S is 0 keeps the codes of its search. A negative scale or minimum
// from the search is stored modulo 256, so it spills into its neighbor's four bits; the final codes
// are made with the stored values.
// Source of truth: llama.cpp ggml/src/ggml-quants.c (quantize_row_q2_K_ref, _impl).
#include <cmath>
#include <cstring>

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

// Writes values[j] as 0..15 of the largest, shifted by `shift` bits; returns largest / 15.
float store_levels(const float* values, uint32_t shift, BlockQ2K& out) {
  float largest = 0;
  for (uint32_t j = 0; j < kSubs; ++j) {
    if (values[j] > largest) largest = values[j];
  }
  if (!(largest > 0)) return 0;
  const float inverse = 15.0f / largest;
  for (uint32_t j = 0; j < kSubs; ++j) {
    const auto level = static_cast<uint32_t>(round_to_int(inverse * values[j]));
    out.scales[j] = static_cast<uint8_t>(out.scales[j] | level << shift);
  }
  return largest / 15.0f;
}

void encode_block(const float* values, BlockQ2K& out) {
  constexpr AffineSearch kSearch{3, -0.5f, 0.1f, 15, true};
  auto found = fit_sub_blocks<kSub>(values, kSearch, [](const float* sub, size_t, float* weights) {
    for (uint32_t i = 0; i < kSub; ++i) weights[i] = std::fabs(sub[i]);
  });
  std::memset(out.scales, 0, sizeof out.scales);
  out.d = f16_from_float(store_levels(found.scales, 0, out));
  out.dmin = f16_from_float(store_levels(found.minimums, 4, out));
  finish_codes(values, found.codes, out);
}

void encode_block_weighted(const float* values, const float* column_weights, BlockQ2K& out) {
  constexpr AffineSearch kSearch{3, -0.9f, 0.05f, 36};
  const float variance = sum_of_squares(values, kBlock) / kBlock;
  const auto weigh_sub = [&](const float* sub, size_t first, float* weights) {
    weigh(sub, column_weights + first, variance, kSub, weights);
  };
  auto found = fit_sub_blocks<kSub>(values, kSearch, weigh_sub);
  uint8_t scales[kSubs];
  uint8_t minimums[kSubs];
  out.d = f16_from_float(fit_positive<kSubs>(found.scales, found.weights, 15, scales));
  out.dmin = f16_from_float(fit_positive<kSubs>(found.minimums, found.weights, 15, minimums));
  pack_levels(scales, minimums, out);
  finish_codes(values, found.codes, out);
}

}  // namespace

CKPT_SCALAR_ENCODER(encode_q2_k_scalar, BlockQ2K)
CKPT_SCALAR_WEIGHTED_ENCODER(encode_q2_k_weighted_scalar, BlockQ2K)

constinit const Codec kQ2KCodec =
    block_codec<Dtype::kQ2K, BlockQ2K, encode_q2_k, encode_q2_k_weighted, decode_q2_k,
                only_feedback<BlockQ2K>>(
        "2 bits, 16 values a scale and minimum of 4 bits; 2.63 bits a value");

}  // namespace ckpt
