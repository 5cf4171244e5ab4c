// IQ1, IQ2 and IQ3, ggml's types with codebooks: their blocks byte by byte, and the functions that
// encode and decode them. Each block holds 256 values.
//
// Notation as in k_layout.h. P is a point of the type's codebook with index n: the levels of 8
// neighbors, or of 4 (IQ3) (iq_grid.h). A group is 8 values; its sign byte has bit j set if value j
// is negative. Seven stored sign bits imply the eighth, because an even number is set.
//
// Arguments as in block_functions.h.
// Note: ggml encodes IQ1_S, IQ2_XXS and IQ2_XS only with weights. Without, these functions weigh by
// the squares of the values; callers that write files reject that.
// Source of truth: llama.cpp ggml/src/ggml-quants.c, ggml/src/ggml-common.h.
#pragma once

#include <cstdint>

#include "quantizers/ggml/block_functions.h"
#include "quantizers/ggml/codebook/iq1_search.h"
#include "quantizers/ggml/codebook/iq_search.h"

namespace ckpt {

// Sub-blocks b of 32, S of 4 bits.             value = +- (f32(d) (S + 0.5) / 4) P, P of 8, 25, 43
// | d 2 | codes 64 |  two u32 a sub-block: n of four groups, 8 bits each;
//                     seven signs of four groups, 7 bits each, S in bits 28..
struct [[gnu::packed]] BlockIq2Xxs {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint32_t codes[16];
};

// Sub-blocks b of 16, S of 4 bits: lo/hi even, odd b.               value as IQ2_XXS
// | d 2 | codes 64 | scales 8 |  codes[group] = n of 9 bits, seven signs from bit 9
struct [[gnu::packed]] BlockIq2Xs {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint16_t codes[32];
  uint8_t scales[8];
};

// Sub-blocks b of 16, S of 4 bits: lo/hi even, odd b.               value as IQ2_XXS
// | d 2 | codes 32 | signs 32 | high 8 | scales 8 |  of n: 8 bits in codes[group], 2 bits from
//                                                    2 (group % 4) in high[group / 4]
struct [[gnu::packed]] BlockIq2S {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint8_t codes[32];
  uint8_t signs[32];
  uint8_t high[8];
  uint8_t scales[8];
};

// Sub-blocks b of 32, S of 4 bits.  value = +- (f32(d) (S + 0.5) / 2) P, P of 4, 12, .. 52, 62
// | d 2 | codes 64 | signs_scale 32 |  codes[i] = n of values 4i..; a u32 a sub-block: seven signs
//                                      of four groups, 7 bits each, S in bits 28..
struct [[gnu::packed]] BlockIq3Xxs {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint8_t codes[64];
  uint32_t signs_scale[8];
};

// Sub-blocks b of 32, S of 4 bits: lo/hi even, odd b.  value = +- (f32(d) (2 S + 1)) P, P of
// 1, 3..15 | d 2 | codes 64 | high 8 | signs 32 | scales 4 |  of n: 8 bits in codes[i], bit i%8 of
// high[i/8]
struct [[gnu::packed]] BlockIq3S {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint8_t codes[64];
  uint8_t high[8];
  uint8_t signs[32];
  uint8_t scales[4];
};

// Sub-blocks b of 32, S of 3 bits.     value = (f32(d) (2 S + 1)) (P +- 0.125), P of -1, 0, 1
// | d 2 | codes 32 | high 16 |  of n: 8 bits in codes[group], 3 bits from 3 (group % 4) in high[b];
//                               S in bits 12 to 14 of high[b], bit 15 = minus
struct [[gnu::packed]] BlockIq1S {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint8_t codes[32];
  uint16_t high[8];
};

// Sub-blocks b of 16, S of 3 bits, from 3 (b % 4) in scales[b / 4].                value as IQ1_S
// | codes 32 | high 16 | scales 8 |  of n: 8 bits in codes[group], 3 bits in high[b], first group
//                                    from bit 0, second from 4; bits 3 and 7 = minus, one a group
// d: its nibbles, lowest first, in bits 12.. of scales[0] to scales[3].
struct [[gnu::packed]] BlockIq1M {
  static constexpr uint32_t kValues = 256;
  uint8_t codes[32];
  uint8_t high[16];
  uint16_t scales[4];
  uint16_t half_d() const {
    return static_cast<uint16_t>(scales[0] >> 12 | (scales[1] >> 12) << 4 | (scales[2] >> 12) << 8 |
                                 (scales[3] >> 12) << 12);
  }
};

// Encode one block, for encode_iq_blocks() and encode_iq_rows_weighted(). The first argument is the
// search: the scalar twin or the one with vectors. `column_weights` may be null.
void encode_iq_block(TryIqScales search, const float* values, const float* column_weights,
                     BlockIq2Xxs& out);
void encode_iq_block(TryIqScales search, const float* values, const float* column_weights,
                     BlockIq2Xs& out);
void encode_iq_block(TryIqScales search, const float* values, const float* column_weights,
                     BlockIq2S& out);
void encode_iq_block(TryIqScales search, const float* values, const float* column_weights,
                     BlockIq3Xxs& out);
void encode_iq_block(TryIqScales search, const float* values, const float* column_weights,
                     BlockIq3S& out);
void encode_iq_block(const Iq1Search* search, const float* values, const float* column_weights,
                     BlockIq1S& out);
void encode_iq_block(const Iq1Search* search, const float* values, const float* column_weights,
                     BlockIq1M& out);

void decode_iq2_xxs_scalar(const BlockIq2Xxs* in, uint64_t blocks, float* values);
void decode_iq2_xs_scalar(const BlockIq2Xs* in, uint64_t blocks, float* values);
void decode_iq2_s_scalar(const BlockIq2S* in, uint64_t blocks, float* values);
void decode_iq3_xxs_scalar(const BlockIq3Xxs* in, uint64_t blocks, float* values);
void decode_iq3_s_scalar(const BlockIq3S* in, uint64_t blocks, float* values);
void decode_iq1_s_scalar(const BlockIq1S* in, uint64_t blocks, float* values);
void decode_iq1_m_scalar(const BlockIq1M* in, uint64_t blocks, float* values);

}  // namespace ckpt
