// The blocks of ggml's K-quants, byte for byte.
//
// A drawing names the bytes of a block from the first one; "lo/hi e,f" is a byte whose low nibble
// belongs to value e and whose high nibble to value f. d, m and dmin are IEEE half floats,
// little-endian. S and M are 6-bit scales and minimums of sub-blocks of kSubValues, q the code of a
// value, from 0 (the value kLowest) to kTop.
//
// Note: adjacent values do not share a byte: value j shares one with j+32. Q3_K and Q6_K store d
// after the codes. Blocks are packed: they may be at any address, so no pointer to a member may be
// taken.
//
// Source: llama.cpp ggml/src/ggml-common.h. Formulas and searches: docs/formats/ggml_types.md.
#pragma once

#include <cstdint>

namespace ckpt {

// Sub-blocks of 16; sub-block b: lo/hi S,M of 4 bits in scales[b].  value = (d S) q - (dmin M)
// | scales 16 | codes 64 | d 2 | dmin 2 |
// Half h, l in 0..31: codes[32h+l] = values 128h+l, +32, +64, +96, two bits each, lowest first.
struct [[gnu::packed]] BlockQ2K {
  static constexpr uint32_t kValues = 256, kSubValues = 16;
  static constexpr int32_t kTop = 3, kLowest = 0;
  uint8_t scales[16];
  uint8_t codes[64];
  uint16_t d, dmin;
};

// Sub-blocks of 16; S has 6 bits, biased by 32.                   value = (d (S - 32)) (q - 4)
// | high_bits 32 | codes 64 | scales 12 | d 2 |
// Bit e/32 of high_bits[e%32] is the third bit of value e; codes as Q2_K hold the lower two.
// scales[0..7] lo/hi = low four bits of S[j],S[j+8]; scales[8 + j%4] bits 2(j/4).. = upper two.
struct [[gnu::packed]] BlockQ3K {
  static constexpr uint32_t kValues = 256, kSubValues = 16;
  static constexpr int32_t kTop = 7, kLowest = -4;
  uint8_t high_bits[32];
  uint8_t codes[64];
  uint8_t scales[12];
  uint16_t d;
};

// Sub-blocks of 32.                                               value = (d S) q - (dmin M)
// | d 2 | dmin 2 | scales 12 | codes 128 |
// scales for j < 4:  [j] = S[j] with S[j+4]'s upper two bits on top, [j+4] = M likewise,
//                    [j+8] lo/hi = lower four bits of S[j+4],M[j+4].
// codes[32c+l] lo/hi = values 64c+l, 64c+32+l.
struct [[gnu::packed]] BlockQ4K {
  static constexpr uint32_t kValues = 256, kSubValues = 32;
  static constexpr int32_t kTop = 15, kLowest = 0;
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t codes[128];
};

// As Q4_K; bit 2c of high_bits[l] is the fifth bit of value 64c+l, bit 2c+1 of value 64c+32+l.
// | d 2 | dmin 2 | scales 12 | high_bits 32 | codes 128 |
struct [[gnu::packed]] BlockQ5K {
  static constexpr uint32_t kValues = 256, kSubValues = 32;
  static constexpr int32_t kTop = 31, kLowest = 0;
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t high_bits[32];
  uint8_t codes[128];
};

// Sub-blocks of 16 with signed scales S of 8 bits.                value = (d S) (q - 32)
// | low_bits 128 | high_bits 64 | scales 16 | d 2 |
// Half h, l in 0..31, A B C D = values 128h+l, +32, +64, +96: low_bits[64h+l] lo/hi = A,C;
// low_bits[64h+32+l] lo/hi = B,D; high_bits[32h+l] = upper two bits of A B C D, lowest first.
struct [[gnu::packed]] BlockQ6K {
  static constexpr uint32_t kValues = 256, kSubValues = 16;
  static constexpr int32_t kTop = 63, kLowest = -32;
  uint8_t low_bits[128];
  uint8_t high_bits[64];
  int8_t scales[16];
  uint16_t d;
};

// The name in functions and the block struct of each type, grouped by sub-block size.
#define CKPT_K_TYPES_OF_16(ROW) ROW(q2_k, BlockQ2K) ROW(q3_k, BlockQ3K) ROW(q6_k, BlockQ6K)
#define CKPT_K_TYPES_OF_32(ROW) ROW(q4_k, BlockQ4K) ROW(q5_k, BlockQ5K)
#define CKPT_K_TYPES(ROW) CKPT_K_TYPES_OF_16(ROW) CKPT_K_TYPES_OF_32(ROW)

}  // namespace ckpt
