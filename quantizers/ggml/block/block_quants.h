// ggml's 32-value types: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0. Their blocks, byte for byte, and the
// functions that encode and decode them.
//
// Notation as in k_layout.h. Values j and j+16 share a byte. The weighted functions need a
// statistic of the entire row, so rows are not split. ggml ignores weights for Q8_0.
#pragma once

#include <cstdint>

#include "quantizers/extreme_codes.h"
#include "quantizers/ggml/block_functions.h"

namespace ckpt {

// | d 2 | lo/hi j,j+16  16 |                                      value = d (q - 8)
struct [[gnu::packed]] BlockQ4_0 {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  uint8_t codes[16];
};

// | d 2 | m 2 | lo/hi j,j+16  16 |                                value = d q + m
struct [[gnu::packed]] BlockQ4_1 {
  static constexpr uint32_t kValues = 32;
  uint16_t d, m;
  uint8_t codes[16];
};

// | d 2 | bit j = fifth bit of j  4 | lo/hi j,j+16  16 |          value = d (q - 16)
struct [[gnu::packed]] BlockQ5_0 {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  uint32_t high_bits;
  uint8_t codes[16];
};

// | d 2 | m 2 | bit j = fifth bit of j  4 | lo/hi j,j+16  16 |    value = d q + m
struct [[gnu::packed]] BlockQ5_1 {
  static constexpr uint32_t kValues = 32;
  uint16_t d, m;
  uint32_t high_bits;
  uint8_t codes[16];
};

// | d 2 | q of j  32 |                                            value = d q
struct [[gnu::packed]] BlockQ8_0 {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  int8_t codes[32];
};

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

// The name in functions and the block struct of each type that uses weights.
#define CKPT_WEIGHTED_BLOCKS(ROW) \
  ROW(q4_0, BlockQ4_0) ROW(q4_1, BlockQ4_1) ROW(q5_0, BlockQ5_0) ROW(q5_1, BlockQ5_1)
CKPT_WEIGHTED_BLOCKS(CKPT_DECLARE_ALL)
CKPT_DECLARE_ENCODER(q8_0, BlockQ8_0)
CKPT_DECLARE_DECODER(q8_0, BlockQ8_0)

// Repacks of codec q4_0, from packed INT4 of safetensors (int4_repack.cc).
extern const Repack kInt4Repacks[2];

}  // namespace ckpt
