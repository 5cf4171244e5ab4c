// TQ1_0 and TQ2_0: their blocks byte by byte, and the functions that encode and decode them. Each
// block holds 256 values; weights are ignored, as in ggml.
//
// Notation as in k_layout.h. Arguments as in block_functions.h.
// Source of truth: llama.cpp ggml/src/ggml-quants.c, ggml/src/ggml-common.h.
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

// | codes 64 | d 2 |                                                value = d (q - 1)
// codes[32h+m] bits 2n.. = value 128h+32n+m.
struct [[gnu::packed]] BlockTq2_0 {
  static constexpr uint32_t kValues = 256;
  uint8_t codes[64];
  uint16_t d;
};

void encode_tq1_0_scalar(const float* values, uint64_t blocks, BlockTq1_0* out);
void encode_tq2_0_scalar(const float* values, uint64_t blocks, BlockTq2_0* out);
void decode_tq1_0_scalar(const BlockTq1_0* in, uint64_t blocks, float* values);
void decode_tq2_0_scalar(const BlockTq2_0* in, uint64_t blocks, float* values);

}  // namespace ckpt
