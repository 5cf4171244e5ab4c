// How many codes are at either end of a codec's codes: values that may have been cut off.
//
//   codes          ends                           types
//   q of n bits    0 and 2^n - 1                  Q2_K to Q6_K, Q4_0 to Q5_1, IQ4_NL, IQ4_XS
//   q of 8 bits    -128, -127 and 127             Q8_0
//   E2M1           7 and 15: 6 and -6             MXFP4, NVFP4
//   E4M3           0x7E and 0xFE: 448 and -448    FP8, MXFP8
//
// Note: a block scaled by its largest magnitude has a code at an end by
// construction, so a share of one in 16 is what NVFP4 has at least, not a sign of trouble.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/model/codec.h"
#include "quantizers/ggml/ggml_blocks.h"
#include "quantizers/ggml/ggml_table_blocks.h"

namespace ckpt {

// Of parts[0]: codes of four bits, two a byte, and of eight.
inline uint64_t count_extreme_e2m1(ConstParts parts, uint64_t values) {
  uint64_t count = 0;
  for (const std::byte byte : parts[0].first(values / 2)) {
    const auto bits = static_cast<unsigned>(byte);
    count += ((bits & 0x07) == 0x07 ? 1u : 0u) + ((bits & 0x70) == 0x70 ? 1u : 0u);
  }
  return count;
}
inline uint64_t count_extreme_e4m3(ConstParts parts, uint64_t values) {
  uint64_t count = 0;
  for (const std::byte byte : parts[0].first(values)) {
    count += (static_cast<unsigned>(byte) & 0x7F) == 0x7E ? 1u : 0u;
  }
  return count;
}

inline bool is_end(unsigned code, unsigned last) { return code == 0 || code == last; }

template <size_t kBytes>
uint64_t count_nibble_ends(const uint8_t (&codes)[kBytes]) {
  uint64_t count = 0;
  for (const uint8_t byte : codes) {
    count += (is_end(byte & 15u, 15) ? 1u : 0u) + (is_end(byte >> 4, 15) ? 1u : 0u);
  }
  return count;
}
template <size_t kBytes>
uint64_t count_nibbles_of_six(const uint8_t (&codes)[kBytes]) {
  uint64_t count = 0;
  for (const uint8_t byte : codes) {
    count += ((byte & 0x07) == 0x07 ? 1u : 0u) + ((byte & 0x70) == 0x70 ? 1u : 0u);
  }
  return count;
}
inline uint64_t count_five_bit_ends(const uint8_t (&codes)[16], uint32_t high_bits) {
  uint64_t count = 0;
  for (unsigned j = 0; j < 16; ++j) {
    const unsigned low = (codes[j] & 15u) | ((high_bits >> j & 1u) << 4);
    const unsigned high = (codes[j] >> 4) | ((high_bits >> (j + 16) & 1u) << 4);
    count += (is_end(low, 31) ? 1u : 0u) + (is_end(high, 31) ? 1u : 0u);
  }
  return count;
}

inline uint64_t count_extreme_codes(const BlockQ4_0& b) { return count_nibble_ends(b.codes); }
inline uint64_t count_extreme_codes(const BlockQ4_1& b) { return count_nibble_ends(b.codes); }
inline uint64_t count_extreme_codes(const BlockQ4K& b) { return count_nibble_ends(b.codes); }
inline uint64_t count_extreme_codes(const BlockIq4Nl& b) { return count_nibble_ends(b.codes); }
inline uint64_t count_extreme_codes(const BlockIq4Xs& b) { return count_nibble_ends(b.codes); }
inline uint64_t count_extreme_codes(const BlockMxfp4& b) { return count_nibbles_of_six(b.codes); }
inline uint64_t count_extreme_codes(const BlockNvfp4& b) { return count_nibbles_of_six(b.codes); }
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

// The 256-value blocks below: value e has its low bits in byte 32 (e / 128) + e % 32 (two bits) or
// 32 (e / 64) + e % 32 (four bits), as drawn at their structs.
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
