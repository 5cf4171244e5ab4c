// The blocks of ggml's types whose codes look values up in a table, byte for byte.
//
// Notation as in ggml_blocks.h. T is kIq4Table, E is kE2m1Doubled (table_quants.h).
// Note: E holds doubled E2M1 numbers, so the scales count half.
// Source: llama.cpp ggml/src/ggml-common.h, ggml/src/ggml-impl.h.
#pragma once

#include <cstdint>

namespace ckpt {

// | d 2 | lo/hi j,j+16  16 |                                      value = d T[q]
struct [[gnu::packed]] BlockIq4Nl {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  uint8_t codes[16];
};
static_assert(sizeof(BlockIq4Nl) == 18);

// Sub-blocks b of 32, S of 6 bits stands for S - 32.              value = (d (S - 32)) T[q]
// | d 2 | scales_high 2 | scales_low 4 | codes 128 |
// scales_low[b/2] lo/hi = lower four bits of even/odd b; scales_high bits 2b.. = upper two.
// codes[16b+j] lo/hi = values 32b+j, 32b+16+j.
struct [[gnu::packed]] BlockIq4Xs {
  static constexpr uint32_t kValues = 256;
  uint16_t d;
  uint16_t scales_high;
  uint8_t scales_low[4];
  uint8_t codes[128];
};
static_assert(sizeof(BlockIq4Xs) == 136);

// | e 1 | lo/hi j,j+16  16 |                                      value = E[q] 2^(e-128)
struct [[gnu::packed]] BlockMxfp4 {
  static constexpr uint32_t kValues = 32;
  uint8_t exponent;
  uint8_t codes[16];
};
static_assert(sizeof(BlockMxfp4) == 17);

// Sub-blocks s of 16, scale in UE4M3 (0x00 and 0x7F are 0).       value = E[q] (scale / 2)
// | scales 4 | codes 32 |     codes[8s+j] lo/hi = values 16s+j, 16s+8+j
struct [[gnu::packed]] BlockNvfp4 {
  static constexpr uint32_t kValues = 64;
  uint8_t scales[4];
  uint8_t codes[32];
};
static_assert(sizeof(BlockNvfp4) == 36);

}  // namespace ckpt
