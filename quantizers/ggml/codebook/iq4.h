// IQ4_NL and IQ4_XS: their blocks byte by byte, the table that their codes index, the functions
// that encode and decode them, and the two loops that dominate the time.
//
// Notation as in k_layout.h. T is kIq4Table.
// Source of truth: llama.cpp ggml/src/ggml-quants.c, ggml/src/ggml-common.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quantizers/extreme_codes.h"
#include "quantizers/ggml/block_functions.h"

namespace ckpt {

// | d 2 | lo/hi j,j+16  16 |                                      value = d T[q]
struct [[gnu::packed]] BlockIq4Nl {
  static constexpr uint32_t kValues = 32;
  uint16_t d;
  uint8_t codes[16];
};

// Sub-blocks b of 32; S has 6 bits, biased by 32.                 value = (d (S - 32)) T[q]
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

inline constexpr int8_t kIq4Table[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};

inline uint64_t count_extreme_codes(const BlockIq4Nl& b) { return count_nibble_ends(b.codes); }
inline uint64_t count_extreme_codes(const BlockIq4Xs& b) { return count_nibble_ends(b.codes); }

void decode_iq4_nl_scalar(const BlockIq4Nl* in, uint64_t blocks, float* values);
void decode_iq4_xs_scalar(const BlockIq4Xs* in, uint64_t blocks, float* values);

// ---- the search -------------------------------------------------------------------------------
inline constexpr size_t kIq4Values = 32;  // values that share a scale
inline constexpr size_t kIq4Tries = 16;   // inverse scales to try

// For each inverse scale, over the values x with weights w, where T is the entry nearest to inverse
// * x: the sums of (w T) x and (w T) T, in the order of the values.
struct Iq4Sums {
  alignas(64) float wqx[kIq4Tries];
  alignas(64) float wqq[kIq4Tries];
};
void sum_iq4_scalar(const float* values, const float* weights, const float* inverses, Iq4Sums& out);
// Stores the indices of the entries nearest to inverse * value, for kIq4Values values.
void find_iq4_codes_scalar(const float* values, float inverse, uint8_t* codes);

// Do the same with vectors.
void sum_iq4(const float* values, const float* weights, const float* inverses, Iq4Sums& out);
void find_iq4_codes(const float* values, float inverse, uint8_t* codes);

struct Iq4Search {
  decltype(&sum_iq4_scalar) sum;
  decltype(&find_iq4_codes_scalar) find_codes;
};
inline constexpr Iq4Search kIq4ScalarSearch = {sum_iq4_scalar, find_iq4_codes_scalar};
inline constexpr Iq4Search kIq4VectorSearch = {sum_iq4, find_iq4_codes};

// Encodes one block for encode_iq_blocks() and encode_iq_rows_weighted(). Weights may be null.
void encode_iq_block(const Iq4Search* search, const float* values, const float* column_weights,
                     BlockIq4Nl& out);
void encode_iq_block(const Iq4Search* search, const float* values, const float* column_weights,
                     BlockIq4Xs& out);

}  // namespace ckpt
