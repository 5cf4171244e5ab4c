// The blocks of ggml's types below four bits other than K-quants, byte for byte: ternary (TQ) and
// codebooks (IQ1, IQ2, IQ3). All hold 256 values.
//
// Notation as in ggml_blocks.h. P is a point of the type's codebook: the levels of 8 neighbors, or
// of 4 (IQ3), by its number n (iq_grid.h). A group is 8 values; its sign byte has bit j set where
// value j is negative. Seven sign bits stand for eight: the eighth makes their number even.
// Source: llama.cpp ggml/src/ggml-common.h.
#pragma once

#include <cstdint>

namespace ckpt {

// Digits of base 3, t - 1 = -1, 0, 1; the first digit of a byte is the highest.   value = d (t - 1)
// | trits 48 | trits_high 4 | d 2 |  a byte b holds the number ceil(256 x / 243), x its five digits
// trits[m], m < 32: values m, 32+m, .. 128+m; trits[32+m]: 160+m, 176+m, .. 224+m;
// trits_high[m]: 240+m, 244+m, 248+m, 252+m and a digit that is 0.
struct [[gnu::packed]] BlockTq1_0 {
  static constexpr uint32_t kValues = 256;
  uint8_t trits[48];
  uint8_t trits_high[4];
  uint16_t d;
};
static_assert(sizeof(BlockTq1_0) == 54);

// | codes 64 | d 2 |                                                value = d (q - 1)
// codes[32h+m] bits 2n.. = value 128h+32n+m.
struct [[gnu::packed]] BlockTq2_0 {
  static constexpr uint32_t kValues = 256;
  uint8_t codes[64];
  uint16_t d;
};
static_assert(sizeof(BlockTq2_0) == 66);

// Sub-blocks b of 32, S of 4 bits.             value = +- (f32(d) (S + 0.5) / 4) P, P of 8, 25, 43
// | d 2 | codes 64 |  two u32 a sub-block: n of four groups, 8 bits each;
//                     seven signs of four groups, 7 bits each, S in bits 28..
struct [[gnu::packed]] BlockIq2Xxs {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint32_t codes[16];
};
static_assert(sizeof(BlockIq2Xxs) == 66);

// Sub-blocks b of 16, S of 4 bits: lo/hi even, odd b.               value as IQ2_XXS
// | d 2 | codes 64 | scales 8 |  codes[group] = n of 9 bits, seven signs from bit 9
struct [[gnu::packed]] BlockIq2Xs {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint16_t codes[32];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIq2Xs) == 74);

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
static_assert(sizeof(BlockIq2S) == 82);

// Sub-blocks b of 32, S of 4 bits.  value = +- (f32(d) (S + 0.5) / 2) P, P of 4, 12, .. 52, 62
// | d 2 | codes 64 | signs_scale 32 |  codes[i] = n of values 4i..; a u32 a sub-block: seven signs
//                                      of four groups, 7 bits each, S in bits 28..
struct [[gnu::packed]] BlockIq3Xxs {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint8_t codes[64];
  uint32_t signs_scale[8];
};
static_assert(sizeof(BlockIq3Xxs) == 98);

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
static_assert(sizeof(BlockIq3S) == 110);

// Sub-blocks b of 32, S of 3 bits.     value = (f32(d) (2 S + 1)) (P +- 0.125), P of -1, 0, 1
// | d 2 | codes 32 | high 16 |  of n: 8 bits in codes[group], 3 bits from 3 (group % 4) in high[b];
//                               S in bits 12 to 14 of high[b], bit 15 = minus
struct [[gnu::packed]] BlockIq1S {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint8_t codes[32];
  uint16_t high[8];
};
static_assert(sizeof(BlockIq1S) == 50);

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
static_assert(sizeof(BlockIq1M) == 56);

}  // namespace ckpt
