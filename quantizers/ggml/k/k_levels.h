// Converts scales, minimums and codes to the bytes of 256-value blocks, drawn in k_layout.h.
//
// Note: ggml's searches may leave more than 6 bits in a level; the upper bits end up where ggml
// puts them.
#pragma once

#include <cstdint>

#include "core/model/float_convert.h"
#include "quantizers/extreme_codes.h"
#include "quantizers/ggml/block_functions.h"
#include "quantizers/ggml/k/k_layout.h"
#include "quantizers/rounding.h"

namespace ckpt {

// The stored scale and minimum of each sub-block, for blocks with sub-blocks of 32.
struct Levels {
  uint8_t scales[8];
  uint8_t minimums[8];
};

inline void pack_levels(const uint8_t* s, const uint8_t* m, uint8_t* packed) {
  for (int j = 0; j < 4; ++j) {
    packed[j] = static_cast<uint8_t>(s[j] | (s[j + 4] >> 4) << 6);
    packed[j + 4] = static_cast<uint8_t>(m[j] | (m[j + 4] >> 4) << 6);
    packed[j + 8] = static_cast<uint8_t>((s[j + 4] & 15) | (m[j + 4] & 15) << 4);
  }
}

// Pack levels of scales and minimums, or of signed scales plus 32, into a block.
inline void pack_levels(const uint8_t* s, const uint8_t* m, BlockQ2K& out) {
  for (int j = 0; j < 16; ++j) out.scales[j] = static_cast<uint8_t>(s[j] | m[j] << 4);
}
inline void pack_levels(const uint8_t* s, BlockQ3K& out) {
  for (int j = 0; j < 8; ++j) {
    out.scales[j] = static_cast<uint8_t>((s[j] & 15) | (s[j + 8] & 15) << 4);
  }
  for (int j = 0; j < 4; ++j) {
    out.scales[8 + j] = static_cast<uint8_t>(s[j] >> 4 | s[j + 4] >> 4 << 2 | s[j + 8] >> 4 << 4 |
                                             s[j + 12] >> 4 << 6);
  }
}
template <class Block>  // with sub-blocks of 32 values
void pack_levels(const uint8_t* s, const uint8_t* m, Block& out) {
  pack_levels(s, m, out.scales);
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

// Returns S - 32 of sub-block j of Q3_K.
inline int level_at(const BlockQ3K& block, uint32_t j) {
  const int low = j < 8 ? block.scales[j] & 15 : block.scales[j - 8] >> 4;
  const int high = block.scales[8 + j % 4] >> (j / 4 * 2) & 3;
  return (low | high << 4) - 32;
}

// Packs two bits of each code, four codes per byte, as Q2_K and Q3_K store them.
inline void pack_low_bits(const uint8_t* codes, uint8_t* packed) {
  for (uint32_t i = 0; i < 64; ++i) {
    const uint8_t* q = codes + i / 32 * 128 + i % 32;
    packed[i] =
        static_cast<uint8_t>((q[0] & 3) | (q[32] & 3) << 2 | (q[64] & 3) << 4 | (q[96] & 3) << 6);
  }
}

// `codes` are those of the 256 values in order.
inline void pack_codes(const uint8_t* codes, BlockQ2K& out) { pack_low_bits(codes, out.codes); }

inline void pack_codes(const uint8_t* codes, BlockQ3K& out) {
  for (uint32_t l = 0; l < 32; ++l) {
    uint32_t bits = 0;
    for (uint32_t g = 0; g < 8; ++g) bits |= static_cast<uint32_t>(codes[32 * g + l] >> 2) << g;
    out.high_bits[l] = static_cast<uint8_t>(bits);
  }
  pack_low_bits(codes, out.codes);
}

template <class Block>  // with sub-blocks of 32 values
void pack_codes(const uint8_t* codes, Block& out) {
  for (uint32_t i = 0; i < 128; ++i) {
    const uint8_t* pair = codes + i / 32 * 64 + i % 32;
    out.codes[i] = static_cast<uint8_t>((pair[0] & 15) | (pair[32] & 15) << 4);
  }
  if constexpr (kFiveBits<Block>) {
    for (uint32_t l = 0; l < 32; ++l) {
      uint32_t bits = 0;
      for (uint32_t j = 0; j < 8; ++j) bits |= static_cast<uint32_t>(codes[32 * j + l] >> 4) << j;
      out.high_bits[l] = static_cast<uint8_t>(bits);
    }
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

// Restore the codes from a block.
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

template <class Block>  // with sub-blocks of 32 values
void unpack_codes(const Block& in, uint8_t* codes) {
  for (uint32_t i = 0; i < 256; ++i) {
    const int low = in.codes[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
    if constexpr (kFiveBits<Block>) {
      codes[i] = static_cast<uint8_t>(low | (in.high_bits[i % 32] >> (i / 32) & 1) << 4);
    } else {
      codes[i] = static_cast<uint8_t>(low);
    }
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

// For values of one sub-block: stored value = scale x (code + kLowest) - minimum.
struct KSubBlock {
  float scale, minimum;
};

inline KSubBlock sub_block_of(const BlockQ2K& block, uint32_t sub) {
  return {float_from_f16(block.d) * static_cast<float>(block.scales[sub] & 15),
          float_from_f16(block.dmin) * static_cast<float>(block.scales[sub] >> 4)};
}
inline KSubBlock sub_block_of(const BlockQ3K& block, uint32_t sub) {
  return {float_from_f16(block.d) * static_cast<float>(level_at(block, sub)), 0};
}
inline KSubBlock sub_block_of(const BlockQ6K& block, uint32_t sub) {
  return {float_from_f16(block.d) * static_cast<float>(block.scales[sub]), 0};
}
template <class Block>  // with sub-blocks of 32 values
KSubBlock sub_block_of(const Block& block, uint32_t sub) {
  const Levels levels = unpack_levels(block.scales);
  return {float_from_f16(block.d) * static_cast<float>(levels.scales[sub]),
          float_from_f16(block.dmin) * static_cast<float>(levels.minimums[sub])};
}

// Computes the final codes with the rounded scales in `out`, except where a scale is 0.
template <class Block>
void finish_codes(const float* values, uint8_t* codes, Block& out) {
  constexpr uint32_t kSub = Block::kSubValues;
  constexpr int32_t kLow = Block::kLowest, kHigh = kLow + Block::kTop;
  for (uint32_t j = 0; j < Block::kValues / kSub; ++j) {
    const auto [scale, minimum] = sub_block_of(out, j);
    if (scale == 0) continue;
    for (uint32_t i = kSub * j; i < kSub * (j + 1); ++i) {
      const int32_t number = round_and_clamp((values[i] + minimum) / scale, kLow, kHigh);
      codes[i] = static_cast<uint8_t>(number - kLow);
    }
  }
  pack_codes(codes, out);
}

// Counts codes at the ends of the range (quantizers/extreme_codes.h).
template <class Block>
uint64_t count_extreme_codes(const Block& block) requires requires {
  Block::kSubValues;
}
{
  uint8_t codes[Block::kValues];
  unpack_codes(block, codes);
  uint64_t count = 0;
  for (const uint8_t code : codes) count += is_end(code, Block::kTop) ? 1u : 0u;
  return count;
}

}  // namespace ckpt
