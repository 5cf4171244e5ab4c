// Counts codes at the ends of a codec's range, where values may have been clipped. Each layout
// counts its own codes with these functions.
//
//   codes          ends                           types
//   q of n bits    0 and 2^n - 1                  Q2_K to Q6_K, Q4_0 to Q5_1, IQ4_NL, IQ4_XS
//   q of 8 bits    -128, -127 and 127             Q8_0
//   E2M1           7 and 15: 6 and -6             MXFP4, NVFP4
//   E4M3           0x7E and 0xFE: 448 and -448    FP8, MXFP8
//
// Note: a block that is scaled by its largest magnitude has a code at an end by construction, so
// NVFP4 always has a share of at least one in 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/model/codec.h"

namespace ckpt {

// Counts extreme codes in parts[0]: 4-bit codes, two per byte, and 8-bit codes.
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

}  // namespace ckpt
