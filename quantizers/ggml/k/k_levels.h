// Scales, minimums and codes in the bytes of 256-value blocks; drawings: k_layout.h.
//
// Note: searches of ggml may leave more than 6 bits in a level; the upper
// ones end where ggml's do.
#pragma once

#include <cstdint>

#include "quantizers/ggml/k/k_layout.h"

namespace ckpt {

template <class Block>
inline constexpr bool kFiveBits = requires(Block block) {
  block.high_bits;
};
// Of Q4_K and Q5_K: the largest code.
template <class Block>
inline constexpr int32_t kTopCode = kFiveBits<Block> ? 31 : 15;

// Scale and minimum of each sub-block of 32 as stored in Q4_K and Q5_K.
struct Levels {
  uint8_t scales[8];
  uint8_t minimums[8];
};

inline void pack_levels(const Levels& levels, uint8_t* packed) {
  const uint8_t* s = levels.scales;
  const uint8_t* m = levels.minimums;
  for (int j = 0; j < 4; ++j) {
    packed[j] = static_cast<uint8_t>(s[j] | (s[j + 4] >> 4) << 6);
    packed[j + 4] = static_cast<uint8_t>(m[j] | (m[j + 4] >> 4) << 6);
    packed[j + 8] = static_cast<uint8_t>((s[j + 4] & 15) | (m[j + 4] & 15) << 4);
  }
}

inline Levels unpack_levels(const uint8_t* packed) {
  Levels out;
  for (int j = 0; j < 4; ++j) {
    out.scales[j] = packed[j] & 63;
    out.minimums[j] = packed[j + 4] & 63;
    out.scales[j + 4] = static_cast<uint8_t>((packed[j + 8] & 15) | packed[j] >> 6 << 4);
    out.minimums[j + 4] = static_cast<uint8_t>(packed[j + 8] >> 4 | packed[j + 4] >> 6 << 4);
  }
  return out;
}

// S - 32 of sub-block j of Q3_K.
inline int level_at(const BlockQ3K& block, uint32_t j) {
  const int low = j < 8 ? block.scales[j] & 15 : block.scales[j - 8] >> 4;
  const int high = block.scales[8 + j % 4] >> (j / 4 * 2) & 3;
  return (low | high << 4) - 32;
}

// Two bits of each code, four codes a byte, as Q2_K and Q3_K have them.
inline void pack_low_bits(const uint8_t* codes, uint8_t* packed) {
  for (uint32_t i = 0; i < 64; ++i) {
    const uint8_t* q = codes + i / 32 * 128 + i % 32;
    packed[i] =
        static_cast<uint8_t>((q[0] & 3) | (q[32] & 3) << 2 | (q[64] & 3) << 4 | (q[96] & 3) << 6);
  }
}

// `codes` are those of the 256 values, in order.
inline void pack_codes(const uint8_t* codes, BlockQ2K& out) { pack_low_bits(codes, out.codes); }

inline void pack_codes(const uint8_t* codes, BlockQ3K& out) {
  for (uint32_t l = 0; l < 32; ++l) {
    uint32_t bits = 0;
    for (uint32_t g = 0; g < 8; ++g) bits |= static_cast<uint32_t>(codes[32 * g + l] >> 2) << g;
    out.high_bits[l] = static_cast<uint8_t>(bits);
  }
  pack_low_bits(codes, out.codes);
}

inline void pack_codes(const uint8_t* codes, BlockQ4K& out) {
  for (uint32_t i = 0; i < 128; ++i) {
    const uint8_t* pair = codes + i / 32 * 64 + i % 32;
    out.codes[i] = static_cast<uint8_t>(pair[0] | pair[32] << 4);
  }
}

inline void pack_codes(const uint8_t* codes, BlockQ5K& out) {
  for (uint32_t i = 0; i < 128; ++i) {
    const uint8_t* pair = codes + i / 32 * 64 + i % 32;
    out.codes[i] = static_cast<uint8_t>((pair[0] & 15) | (pair[32] & 15) << 4);
  }
  for (uint32_t l = 0; l < 32; ++l) {
    uint32_t bits = 0;
    for (uint32_t j = 0; j < 8; ++j) bits |= static_cast<uint32_t>(codes[32 * j + l] >> 4) << j;
    out.high_bits[l] = static_cast<uint8_t>(bits);
  }
}

inline void pack_codes(const uint8_t* codes, BlockQ6K& out) {
  for (uint32_t half = 0; half < 2; ++half) {
    const uint8_t* q = codes + 128 * half;
    for (uint32_t l = 0; l < 32; ++l) {
      const uint8_t a = q[l], b = q[l + 32], c = q[l + 64], d = q[l + 96];
      out.low_bits[64 * half + l] = static_cast<uint8_t>((a & 15) | (c & 15) << 4);
      out.low_bits[64 * half + 32 + l] = static_cast<uint8_t>((b & 15) | (d & 15) << 4);
      out.high_bits[32 * half + l] =
          static_cast<uint8_t>(a >> 4 | b >> 4 << 2 | c >> 4 << 4 | d >> 4 << 6);
    }
  }
}

// The other way.
inline void unpack_codes(const BlockQ2K& in, uint8_t* codes) {
  for (uint32_t i = 0; i < 256; ++i) {
    codes[i] = in.codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
  }
}

inline void unpack_codes(const BlockQ3K& in, uint8_t* codes) {
  for (uint32_t i = 0; i < 256; ++i) {
    const int low = in.codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    codes[i] = static_cast<uint8_t>(low | (in.high_bits[i % 32] >> (i / 32) & 1) << 2);
  }
}

inline void unpack_codes(const BlockQ4K& in, uint8_t* codes) {
  for (uint32_t i = 0; i < 128; ++i) {
    uint8_t* pair = codes + i / 32 * 64 + i % 32;
    pair[0] = in.codes[i] & 15;
    pair[32] = in.codes[i] >> 4;
  }
}

inline void unpack_codes(const BlockQ5K& in, uint8_t* codes) {
  for (uint32_t i = 0; i < 128; ++i) {
    uint8_t* pair = codes + i / 32 * 64 + i % 32;
    pair[0] = in.codes[i] & 15;
    pair[32] = in.codes[i] >> 4;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    codes[i] = static_cast<uint8_t>(codes[i] | (in.high_bits[i % 32] >> (i / 32) & 1) << 4);
  }
}

inline void unpack_codes(const BlockQ6K& in, uint8_t* codes) {
  for (uint32_t i = 0; i < 256; ++i) {
    const uint32_t half = i / 128, quarter = i % 128 / 32, l = i % 32;
    const uint8_t low = in.low_bits[64 * half + quarter % 2 * 32 + l];
    const uint8_t high = in.high_bits[32 * half + l];
    codes[i] =
        static_cast<uint8_t>((low >> (quarter / 2 * 4) & 15) | (high >> (quarter * 2) & 3) << 4);
  }
}

}  // namespace ckpt
