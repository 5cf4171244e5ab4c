// ggml's 32-value types: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0. Their blocks, byte for byte, and the
// functions that encode and decode them.
//
// Notation as in k_layout.h. Value j shares a byte with j+16.
//
// The functions ending in _scalar are the specification: plain loops whose every float operation
// is done in the order of ggml's reference, so that the bytes are equal to its bytes. The
// functions without the ending are what codecs call; they give the same bytes on any machine.
//
// `values` holds blocks x 32 floats, row-major. In the _weighted functions `weights` holds one
// weight a column (row_values of them) and rows are whole blocks; they use a statistic of the
// whole row, so a row cannot be cut. Q8_0 has no weighted form: ggml ignores weights there.
//
// Note: no sum may be reordered and no multiply-add fused. Values that
// are Inf or NaN give defined bytes, though useless ones.
// Source of truth: llama.cpp ggml/src/ggml-quants.c, function ggml_quantize_chunk.
#pragma once

#include <cstdint>
#include <span>

#include "core/model/codec.h"
#include "quantizers/extreme_codes.h"

namespace ckpt {

// | d 2 | lo/hi j,j+16  16 |                                      value = d (q - 8)
struct [[gnu::packed]] BlockQ4_0 {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  uint8_t codes[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

// | d 2 | m 2 | lo/hi j,j+16  16 |                                value = d q + m
struct [[gnu::packed]] BlockQ4_1 {
  static constexpr uint32_t kValues = 32;
  uint16_t d, m;
  uint8_t codes[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

// | d 2 | bit j = fifth bit of j  4 | lo/hi j,j+16  16 |          value = d (q - 16)
struct [[gnu::packed]] BlockQ5_0 {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  uint32_t high_bits;
  uint8_t codes[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

// | d 2 | m 2 | bit j = fifth bit of j  4 | lo/hi j,j+16  16 |    value = d q + m
struct [[gnu::packed]] BlockQ5_1 {
  static constexpr uint32_t kValues = 32;
  uint16_t d, m;
  uint32_t high_bits;
  uint8_t codes[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

// | d 2 | q of j  32 |                                            value = d q
struct [[gnu::packed]] BlockQ8_0 {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  int8_t codes[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

inline uint64_t count_extreme_codes(const BlockQ4_0& b) { return count_nibble_ends(b.codes); }
inline uint64_t count_extreme_codes(const BlockQ4_1& b) { return count_nibble_ends(b.codes); }
inline uint64_t count_extreme_codes(const BlockQ5_0& b) {
  return count_five_bit_ends(b.codes, b.high_bits);
}
inline uint64_t count_extreme_codes(const BlockQ5_1& b) {
  return count_five_bit_ends(b.codes, b.high_bits);
}
inline uint64_t count_extreme_codes(const BlockQ8_0& b) {
  uint64_t count = 0;
  for (const int8_t code : b.codes) count += code == 127 || code <= -127 ? 1u : 0u;
  return count;
}

// ---- specification -----------------------------------------------------------------------------
void encode_q4_0_scalar(const float* values, uint64_t blocks, BlockQ4_0* out);
void encode_q4_1_scalar(const float* values, uint64_t blocks, BlockQ4_1* out);
void encode_q5_0_scalar(const float* values, uint64_t blocks, BlockQ5_0* out);
void encode_q5_1_scalar(const float* values, uint64_t blocks, BlockQ5_1* out);
void encode_q8_0_scalar(const float* values, uint64_t blocks, BlockQ8_0* out);

void encode_q4_0_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ4_0* out);
void encode_q4_1_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ4_1* out);
void encode_q5_0_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ5_0* out);
void encode_q5_1_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ5_1* out);

void decode_q4_0_scalar(const BlockQ4_0* in, uint64_t blocks, float* values);
void decode_q4_1_scalar(const BlockQ4_1* in, uint64_t blocks, float* values);
void decode_q5_0_scalar(const BlockQ5_0* in, uint64_t blocks, float* values);
void decode_q5_1_scalar(const BlockQ5_1* in, uint64_t blocks, float* values);
void decode_q8_0_scalar(const BlockQ8_0* in, uint64_t blocks, float* values);

// ---- what the codecs call ---------------------------------------------------------------------
void encode_q4_0(const float* values, uint64_t blocks, BlockQ4_0* out);
void encode_q4_1(const float* values, uint64_t blocks, BlockQ4_1* out);
void encode_q5_0(const float* values, uint64_t blocks, BlockQ5_0* out);
void encode_q5_1(const float* values, uint64_t blocks, BlockQ5_1* out);
void encode_q8_0(const float* values, uint64_t blocks, BlockQ8_0* out);

void encode_q4_0_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ4_0* out);
void encode_q4_1_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ4_1* out);
void encode_q5_0_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ5_0* out);
void encode_q5_1_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ5_1* out);

void decode_q4_0(const BlockQ4_0* in, uint64_t blocks, float* values);
void decode_q4_1(const BlockQ4_1* in, uint64_t blocks, float* values);
void decode_q5_0(const BlockQ5_0* in, uint64_t blocks, float* values);
void decode_q5_1(const BlockQ5_1* in, uint64_t blocks, float* values);
void decode_q8_0(const BlockQ8_0* in, uint64_t blocks, float* values);

// For codec q4_0, from packed INT4 of safetensors (int4_repack.cc).
extern const Repack kInt4Repacks[2];

}  // namespace ckpt
