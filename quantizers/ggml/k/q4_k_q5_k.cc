// Q4_K and Q5_K: 256 values in 8 sub-blocks of 32, each with a 6-bit scale and minimum, which two
// half floats scale in turn. 4.5 and 5.5 bits per value.
//
// Bytes: BlockQ4K, BlockQ5K. value = (f32(d) S) q - (f32(dmin) M), each product rounded.
//
// Without weights, a value has weight w = sqrt(mean square of its sub-block) + |x|, the search of
// each sub-block gives scale and minimum, and d and dmin are the largest of them / 63. With
// weights, w = column weight * sqrt(2 mean square of the block + x^2), and d and dmin come from a
// search over the 8 scales and minimums, where a sub-block's weight is the sum of its w. In both
// cases the final codes are x + f32(dmin) M over f32(d) S, rounded to nearest even.
//
// Note: a sub-block whose f32(d) S is 0 keeps the codes of its search.
// Zero blocks are all zero bytes. d overflows to Inf for ranges above about 63 * 15 * 65504.
// Source of truth: llama.cpp ggml/src/ggml-quants.c (quantize_row_q4_K_ref, _impl and Q5_K's).
#include <algorithm>
#include <cmath>

#include "core/model/float_convert.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/ggml/k/k_feedback.h"
#include "quantizers/ggml/k/k_levels.h"
#include "quantizers/ggml/k/k_quants.h"
#include "quantizers/ggml/k/k_search.h"
#include "quantizers/ggml/scale_search.h"
#include "quantizers/rounding.h"

namespace ckpt {
namespace {

constexpr uint32_t kBlock = 256;
constexpr uint32_t kSub = 32;
constexpr uint32_t kSubs = 8;

float largest_positive(const float* values) {
  float largest = 0;
  for (uint32_t j = 0; j < kSubs; ++j) {
    if (values[j] > largest) largest = values[j];
  }
  return largest;
}

// Writes values[j] as 0..63 of the largest. A negative number first wraps to a large byte.
void round_levels(const float* values, float largest, uint8_t* levels) {
  const float inverse = largest > 0 ? 63.0f / largest : 0.0f;
  for (uint32_t j = 0; j < kSubs; ++j) {
    const auto level = static_cast<uint8_t>(round_to_int(inverse * values[j]));
    levels[j] = std::min<uint8_t>(63, level);
  }
}

template <class Block>
void encode_block(const float* values, Block& out) {
  constexpr AffineSearch kSearch =
      kFiveBits<Block> ? AffineSearch{31, -0.5f, 0.1f, 15} : AffineSearch{15, -1.0f, 0.1f, 20};
  auto found = fit_sub_blocks<kSub>(values, kSearch, [](const float* sub, size_t, float* weights) {
    const float mean = std::sqrt(sum_of_squares(sub, kSub) / 32);
    for (uint32_t i = 0; i < kSub; ++i) weights[i] = mean + std::fabs(sub[i]);
  });
  const float largest_scale = largest_positive(found.scales);
  const float largest_minimum = largest_positive(found.minimums);
  Levels levels;
  round_levels(found.scales, largest_scale, levels.scales);
  round_levels(found.minimums, largest_minimum, levels.minimums);
  pack_levels(levels.scales, levels.minimums, out.scales);
  out.d = f16_from_float(largest_scale / 63.0f);
  out.dmin = f16_from_float(largest_minimum / 63.0f);
  finish_codes(values, found.codes, out);
}

template <class Block>
void encode_block_weighted(const float* values, const float* column_weights, Block& out) {
  constexpr AffineSearch kSearch{Block::kTop, -0.9f, 0.05f, 36};
  const float variance = 2 * sum_of_squares(values, kBlock) / kBlock;
  const auto weigh_sub = [&](const float* sub, size_t first, float* weights) {
    weigh(sub, column_weights + first, variance, kSub, weights);
  };
  auto found = fit_sub_blocks<kSub>(values, kSearch, weigh_sub);
  Levels levels;
  out.d = f16_from_float(fit_positive<kSubs>(found.scales, found.weights, 63, levels.scales));
  out.dmin =
      f16_from_float(fit_positive<kSubs>(found.minimums, found.weights, 63, levels.minimums));
  if constexpr (kFiveBits<Block>) {  // ggml limits wrapped levels only here
    for (uint8_t& level : levels.scales) level = std::min<uint8_t>(63, level);
    for (uint8_t& level : levels.minimums) level = std::min<uint8_t>(63, level);
  }
  pack_levels(levels.scales, levels.minimums, out.scales);
  finish_codes(values, found.codes, out);
}

}  // namespace

#define CKPT_TWINS(name, Block)                      \
  CKPT_SCALAR_ENCODER(encode_##name##_scalar, Block) \
  CKPT_SCALAR_WEIGHTED_ENCODER(encode_##name##_weighted_scalar, Block)
CKPT_K_TYPES_OF_32(CKPT_TWINS)
#undef CKPT_TWINS

constinit const Codec kQ4KCodec =
    block_codec<Dtype::kQ4K, BlockQ4K, encode_q4_k, encode_q4_k_weighted, decode_q4_k,
                search_affine<BlockQ4K>>(
        "4 bits, 32 values a scale and minimum of 6 bits; 4.5 bits a value");
constinit const Codec kQ5KCodec =
    block_codec<Dtype::kQ5K, BlockQ5K, encode_q5_k, encode_q5_k_weighted, decode_q5_k,
                search_affine<BlockQ5K>>(
        "5 bits, 32 values a scale and minimum of 6 bits; 5.5 bits a value");

}  // namespace ckpt
