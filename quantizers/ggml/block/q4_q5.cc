// Q4_0, Q4_1, Q5_0, Q5_1: 32 values share a scale (and a minimum); codes of 4 or 5 bits.
//
// Bytes: block_quants.h. With n = 4 or 5 bits:
//   Qn_0  value = d (q - 2^(n-1))   d = x / -2^(n-1), x the first value of largest magnitude
//   Qn_1  value = d q + m           d = (max - min) / (2^n - 1), m = min
// Codes are truncated after adding one half. Bits per value: 4.5, 5, 5.5, 6.
//
// With weights w = column weight * sqrt(mean square of the row + x^2), a search chooses d (and m)
// and the codes (scale_search.h). Zero blocks: d = 0; Qn_0 then stores the middle code without
// weights and code 0 with them. d or m overflow to Inf when values pass 65504 times their divisor.
// Source of truth: llama.cpp ggml/src/ggml-quants.c (quantize_row_q4_0_ref and its kin).
#include <algorithm>
#include <cfloat>

#include "core/model/float_convert.h"
#include "quantizers/ggml/block/block_quants.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/ggml/scale_search.h"
#include "quantizers/rounding.h"

namespace ckpt {
namespace {

constexpr uint32_t kBlock = 32;

// Truncates to a byte of at most `top`.
uint8_t truncate_to_code(float value, int top) {
  const auto code = static_cast<int8_t>(truncate_to_int(value));
  return static_cast<uint8_t>(std::min<int>(top, code));
}

void pack(const uint8_t* codes, BlockQ4_0& out) {
  for (int j = 0; j < 16; ++j) out.codes[j] = static_cast<uint8_t>(codes[j] | codes[j + 16] << 4);
}

void pack(const uint8_t* codes, BlockQ4_1& out) {
  for (int j = 0; j < 16; ++j) out.codes[j] = static_cast<uint8_t>(codes[j] | codes[j + 16] << 4);
}

template <class Block>  // BlockQ5_0 or BlockQ5_1
void pack(const uint8_t* codes, Block& out) {
  uint32_t high_bits = 0;
  for (int j = 0; j < 16; ++j) {
    out.codes[j] = static_cast<uint8_t>((codes[j] & 15) | (codes[j + 16] & 15) << 4);
  }
  for (int j = 0; j < 32; ++j) high_bits |= static_cast<uint32_t>(codes[j] >> 4 & 1) << j;
  out.high_bits = high_bits;
}

// Encodes to codes 0..2 middle - 1; the scale gives the value of largest magnitude code 0.
template <class Block>
void encode_signed(const float* values, Block& out) {
  constexpr int kMiddle = kFiveBits<Block> ? 16 : 8;
  constexpr float kOffset = static_cast<float>(kMiddle) + 0.5f;
  const float d = find_extreme<kBlock>(values).value / -kMiddle;
  const float inverse = d != 0 ? 1 / d : 0.0f;
  uint8_t codes[kBlock];
  for (uint32_t i = 0; i < kBlock; ++i) {
    codes[i] = truncate_to_code(values[i] * inverse + kOffset, 2 * kMiddle - 1);
  }
  out.d = f16_from_float(d);
  pack(codes, out);
}

template <class Block>
void encode_affine(const float* values, Block& out) {
  constexpr int kTop = kFiveBits<Block> ? 31 : 15;
  float low = FLT_MAX;
  float high = -FLT_MAX;
  for (uint32_t i = 0; i < kBlock; ++i) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  const float d = (high - low) / kTop;
  const float inverse = d != 0 ? 1 / d : 0.0f;
  uint8_t codes[kBlock];
  for (uint32_t i = 0; i < kBlock; ++i) {
    // Only the 4-bit type limits its codes.
    codes[i] = truncate_to_code((values[i] - low) * inverse + 0.5f, kFiveBits<Block> ? 127 : 15);
  }
  out.d = f16_from_float(d);
  out.m = f16_from_float(low);
  pack(codes, out);
}

template <class Block>
void encode_block(const float* values, Block& out) {
  if constexpr (requires { out.m; }) {
    encode_affine(values, out);
  } else {
    encode_signed(values, out);
  }
}

template <class Block>
void encode_weighted(ConstFloatRows rows, std::span<const float> column_weights, Block* out) {
  constexpr AffineSearch kSearch{kFiveBits<Block> ? 31 : 15, -0.9f, 0.05f, 36};
  const auto row_values = static_cast<float>(rows.row_values);
  const float* values = rows.values.data();
  for (uint64_t row = 0; row < rows.rows(); ++row) {
    const float variance = sum_of_squares(values, rows.row_values) / row_values;
    for (uint64_t first = 0; first < rows.row_values; first += kBlock, values += kBlock, ++out) {
      float weights[kBlock];
      uint8_t codes[kBlock];
      weigh(values, column_weights.data() + first, variance, kBlock, weights);
      if constexpr (requires { out->m; }) {
        const AffineScale scale = fit_affine<kBlock>(values, weights, kSearch, codes);
        out->d = f16_from_float(scale.scale);
        out->m = f16_from_float(-scale.minimum);
      } else {
        out->d = f16_from_float(fit_signed<kBlock>(values, weights, (kSearch.top + 1) / 2, codes));
      }
      pack(codes, *out);
    }
  }
}

// Returns code j of the block as an integer.
template <class Block>
int code_at(const Block& block, uint32_t j) {
  int code = j < 16 ? block.codes[j] & 15 : block.codes[j - 16] >> 4;
  if constexpr (kFiveBits<Block>) code |= static_cast<int>(block.high_bits >> j & 1) << 4;
  return code;
}

template <class Block>
void decode_block(const Block& block, float* values) {
  constexpr int kMiddle = kFiveBits<Block> ? 16 : 8;
  const float d = float_from_f16(block.d);
  if constexpr (requires { block.m; }) {
    const float m = float_from_f16(block.m);
    for (uint32_t j = 0; j < kBlock; ++j) values[j] = static_cast<float>(code_at(block, j)) * d + m;
  } else {
    for (uint32_t j = 0; j < kBlock; ++j) {
      values[j] = static_cast<float>(code_at(block, j) - kMiddle) * d;
    }
  }
}

}  // namespace

#define CKPT_TWINS(name, Block)                                                             \
  CKPT_SCALAR_ENCODER(encode_##name##_scalar, Block)                                        \
  void encode_##name##_weighted_scalar(ConstFloatRows rows, std::span<const float> weights, \
                                       Block* out) {                                        \
    encode_weighted(rows, weights, out);                                                    \
  }                                                                                         \
  CKPT_SCALAR_DECODER(decode_##name##_scalar, Block)
CKPT_WEIGHTED_BLOCKS(CKPT_TWINS)
#undef CKPT_TWINS

constinit const Codec kQ4_0Codec = with_repacks(
    block_codec<Dtype::kQ4_0, BlockQ4_0, encode_q4_0, encode_q4_0_weighted, decode_q4_0>(
        "4 bits, 32 values a scale; 4.5 bits a value"),
    kInt4Repacks);
constinit const Codec kQ4_1Codec =
    block_codec<Dtype::kQ4_1, BlockQ4_1, encode_q4_1, encode_q4_1_weighted, decode_q4_1>(
        "4 bits, 32 values a scale and minimum; 5 bits a value");
constinit const Codec kQ5_0Codec =
    block_codec<Dtype::kQ5_0, BlockQ5_0, encode_q5_0, encode_q5_0_weighted, decode_q5_0>(
        "5 bits, 32 values a scale; 5.5 bits a value");
constinit const Codec kQ5_1Codec =
    block_codec<Dtype::kQ5_1, BlockQ5_1, encode_q5_1, encode_q5_1_weighted, decode_q5_1>(
        "5 bits, 32 values a scale and minimum; 6 bits a value");

}  // namespace ckpt
