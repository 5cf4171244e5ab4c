// The blocks of ggml's K-quants, byte for byte.
//
// A drawing names the bytes of a block from its first; "lo/hi e,f" is a byte whose low nibble
// belongs to value e and whose high nibble to value f. d, m and dmin are IEEE half floats,
// little-endian. S and M are 6-bit scales and minimums of sub-blocks, q the code of a value.
//
// Note: neighbors do not share a byte: value j shares one with j+32. Q3_K and Q6_K keep d behind
// the codes.
// Blocks are packed: they may be at any address, so no pointer to a member may be taken.
//
// Source: llama.cpp ggml/src/ggml-common.h. Formulas and searches: docs/formats/ggml_types.md.
#pragma once

#include <cstdint>

#include "quantizers/extreme_codes.h"

namespace ckpt {

// Sub-blocks of 16; sub-block b: lo/hi S,M of 4 bits in scales[b].  value = (d S) q - (dmin M)
// | scales 16 | codes 64 | d 2 | dmin 2 |
// Half h, l in 0..31: codes[32h+l] = values 128h+l, +32, +64, +96, two bits each, lowest first.
struct [[gnu::packed]] BlockQ2K {
  static constexpr uint32_t kValues = 256;
  uint8_t scales[16];
  uint8_t codes[64];
  uint16_t d, dmin;
};
static_assert(sizeof(BlockQ2K) == 84);

// Sub-blocks of 16; S has 6 bits, biased by 32.                   value = (d (S - 32)) (q - 4)
// | high_bits 32 | codes 64 | scales 12 | d 2 |
// Bit e/32 of high_bits[e%32] is the third bit of value e; codes as Q2_K hold the lower two.
// scales[0..7] lo/hi = low four bits of S[j],S[j+8]; scales[8 + j%4] bits 2(j/4).. = upper two.
struct [[gnu::packed]] BlockQ3K {
  static constexpr uint32_t kValues = 256;
  uint8_t high_bits[32];
  uint8_t codes[64];
  uint8_t scales[12];
  uint16_t d;
};
static_assert(sizeof(BlockQ3K) == 110);

// Sub-blocks of 32.                                               value = (d S) q - (dmin M)
// | d 2 | dmin 2 | scales 12 | codes 128 |
// scales for j < 4:  [j] = S[j] with S[j+4]'s upper two bits on top, [j+4] = M likewise,
//                    [j+8] lo/hi = lower four bits of S[j+4],M[j+4].
// codes[32c+l] lo/hi = values 64c+l, 64c+32+l.
struct [[gnu::packed]] BlockQ4K {
  static constexpr uint32_t kValues = 256;
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t codes[128];
};
static_assert(sizeof(BlockQ4K) == 144);

// As Q4_K; bit 2c of high_bits[l] is the fifth bit of value 64c+l, bit 2c+1 of value 64c+32+l.
// | d 2 | dmin 2 | scales 12 | high_bits 32 | codes 128 |
struct [[gnu::packed]] BlockQ5K {
  static constexpr uint32_t kValues = 256;
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t high_bits[32];
  uint8_t codes[128];
};
static_assert(sizeof(BlockQ5K) == 176);

// Sub-blocks of 16 with signed scales S of 8 bits.                value = (d S) (q - 32)
// | low_bits 128 | high_bits 64 | scales 16 | d 2 |
// Half h, l in 0..31, A B C D = values 128h+l, +32, +64, +96: low_bits[64h+l] lo/hi = A,C;
// low_bits[64h+32+l] lo/hi = B,D; high_bits[32h+l] = upper two bits of A B C D, lowest first.
struct [[gnu::packed]] BlockQ6K {
  static constexpr uint32_t kValues = 256;
  uint8_t low_bits[128];
  uint8_t high_bits[64];
  int8_t scales[16];
  uint16_t d;
};
static_assert(sizeof(BlockQ6K) == 210);

// Codes at the ends (quantizers/extreme_codes.h). Value e has its low bits in byte
// 32 (e / 128) + e % 32 (two bits) or 32 (e / 64) + e % 32 (four bits), as drawn above.
inline uint64_t count_extreme_codes(const BlockQ2K& b) {
  uint64_t count = 0;
  for (const uint8_t byte : b.codes) {
    for (unsigned shift = 0; shift < 8; shift += 2) {
      count += is_end(byte >> shift & 3u, 3) ? 1u : 0u;
    }
  }
  return count;
}
inline uint64_t count_extreme_codes(const BlockQ3K& b) {
  uint64_t count = 0;
  for (unsigned e = 0; e < 256; ++e) {
    const unsigned low = b.codes[32 * (e / 128) + e % 32] >> (2 * (e / 32 % 4)) & 3u;
    const unsigned high = b.high_bits[e % 32] >> (e / 32) & 1u;
    count += is_end(low | high << 2, 7) ? 1u : 0u;
  }
  return count;
}
inline uint64_t count_extreme_codes(const BlockQ4K& b) { return count_nibble_ends(b.codes); }
inline uint64_t count_extreme_codes(const BlockQ5K& b) {
  uint64_t count = 0;
  for (unsigned e = 0; e < 256; ++e) {
    const unsigned low = b.codes[32 * (e / 64) + e % 32] >> (4 * (e / 32 % 2)) & 15u;
    const unsigned high = b.high_bits[e % 32] >> (e / 32) & 1u;
    count += is_end(low | high << 4, 31) ? 1u : 0u;
  }
  return count;
}
inline uint64_t count_extreme_codes(const BlockQ6K& b) {
  uint64_t count = 0;
  for (unsigned e = 0; e < 256; ++e) {
    const unsigned quarter = e / 32 % 4;  // A B C D
    const unsigned low =
        b.low_bits[64 * (e / 128) + 32 * (quarter % 2) + e % 32] >> (4 * (quarter / 2)) & 15u;
    const unsigned high = b.high_bits[32 * (e / 128) + e % 32] >> (2 * quarter) & 3u;
    count += is_end(low | high << 4, 63) ? 1u : 0u;
  }
  return count;
}

}  // namespace ckpt
