// Kernels that decode Q2_K, Q3_K, Q4_K, Q5_K and Q6_K: kLanes codes at a time.
//
// value = (d S) q - (dmin M), or (d S) (q - middle), each product rounded. Which codes share bytes:
// k_layout.h. A vector never leaves its sub-block, since kLanes is at most 16.
//
// Note: Q6_K's levels S are signed bytes, Q3_K's are stored plus 32.
#include <cstddef>

#include "core/model/float_convert.h"
#include "quantizers/ggml/k/k_quants.h"
#include "quantizers/simd/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/k/k_decode_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kValues = 256;

HWY_INLINE Int load_bytes(const uint8_t* from) {
  return hn::PromoteTo(kI, hn::LoadU(ByteTag(), from));
}

// Bits first..first + kBits - 1.
template <int kBits>
HWY_INLINE Int bits_from(Int value, size_t first) {
  return hn::And(hn::ShiftRightSame(value, static_cast<int>(first)), splat_int((1 << kBits) - 1));
}

// `bit` in the lanes where bit j of value is set.
HWY_INLINE Int bit_if_set(Int value, size_t j, int32_t bit) {
  return hn::IfThenElseZero(hn::TestBit(value, splat_int(int32_t{1} << j)), splat_int(bit));
}

HWY_INLINE void store_value(Int code, float scale, float* out) {
  hn::StoreU(hn::Mul(hn::ConvertTo(kF, code), splat(scale)), kF, out);
}
HWY_INLINE void store_affine_value(Int code, float scale, float minimum, float* out) {
  const Float product = hn::Mul(splat(scale), hn::ConvertTo(kF, code));
  hn::StoreU(hn::Sub(product, splat(minimum)), kF, out);
}

HWY_INLINE void decode_block(const BlockQ2K& block, float* values) {
  const float d = float_from_f16(block.d);
  const float dmin = float_from_f16(block.dmin);
  const uint8_t* codes = block.codes;
  for (size_t half = 0; half < 2; ++half) {
    for (size_t i = 0; i < 32; i += kLanes) {
      const Int bytes = load_bytes(codes + 32 * half + i);
      for (size_t q = 0; q < 4; ++q) {
        const int level = block.scales[8 * half + 2 * q + i / 16];
        store_affine_value(bits_from<2>(bytes, 2 * q), d * static_cast<float>(level & 15),
                           dmin * static_cast<float>(level >> 4), values + 128 * half + 32 * q + i);
      }
    }
  }
}

// S - 32 of sub-block j.
inline int q3_level(const BlockQ3K& block, size_t j) {
  const int low = j < 8 ? block.scales[j] & 15 : block.scales[j - 8] >> 4;
  const int high = block.scales[8 + j % 4] >> (j / 4 * 2) & 3;
  return (low | high << 4) - 32;
}

HWY_INLINE void decode_block(const BlockQ3K& block, float* values) {
  const float d = float_from_f16(block.d);
  const uint8_t* codes = block.codes;
  const uint8_t* high_bits = block.high_bits;
  for (size_t i = 0; i < 32; i += kLanes) {
    const Int high = load_bytes(high_bits + i);
    for (size_t half = 0; half < 2; ++half) {
      const Int bytes = load_bytes(codes + 32 * half + i);
      for (size_t q = 0; q < 4; ++q) {
        const Int third = bit_if_set(high, 4 * half + q, 4);
        const Int code = hn::Sub(hn::Or(bits_from<2>(bytes, 2 * q), third), splat_int(4));
        const int level = q3_level(block, 8 * half + 2 * q + i / 16);
        store_value(code, d * static_cast<float>(level), values + 128 * half + 32 * q + i);
      }
    }
  }
}

// The scales and minimums of a Q4_K or Q5_K block's sub-blocks.
struct AffineScales {
  float scale[8];
  float minimum[8];
};

template <class Block>
HWY_INLINE AffineScales unpack_scales(const Block& block) {
  const float d = float_from_f16(block.d);
  const float dmin = float_from_f16(block.dmin);
  AffineScales out;
  for (size_t j = 0; j < 4; ++j) {
    const int s = block.scales[j];
    const int m = block.scales[j + 4];
    const int low = block.scales[j + 8];
    out.scale[j] = d * static_cast<float>(s & 63);
    out.minimum[j] = dmin * static_cast<float>(m & 63);
    out.scale[j + 4] = d * static_cast<float>((low & 15) | s >> 6 << 4);
    out.minimum[j + 4] = dmin * static_cast<float>(low >> 4 | m >> 6 << 4);
  }
  return out;
}

HWY_INLINE void decode_block(const BlockQ4K& block, float* values) {
  const AffineScales s = unpack_scales(block);
  const uint8_t* codes = block.codes;
  for (size_t j = 0; j < 8; j += 2) {
    for (size_t i = 0; i < 32; i += kLanes) {
      const Int bytes = load_bytes(codes + 16 * j + i);
      float* out = values + 32 * j + i;
      store_affine_value(hn::And(bytes, splat_int(15)), s.scale[j], s.minimum[j], out);
      store_affine_value(hn::ShiftRight<4>(bytes), s.scale[j + 1], s.minimum[j + 1], out + 32);
    }
  }
}

HWY_INLINE void decode_block(const BlockQ5K& block, float* values) {
  const AffineScales s = unpack_scales(block);
  const uint8_t* codes = block.codes;
  const uint8_t* high_bits = block.high_bits;
  for (size_t i = 0; i < 32; i += kLanes) {
    const Int high = load_bytes(high_bits + i);
    for (size_t j = 0; j < 8; j += 2) {
      const Int bytes = load_bytes(codes + 16 * j + i);
      const Int first = hn::Or(hn::And(bytes, splat_int(15)), bit_if_set(high, j, 16));
      const Int second = hn::Or(hn::ShiftRight<4>(bytes), bit_if_set(high, j + 1, 16));
      float* out = values + 32 * j + i;
      store_affine_value(first, s.scale[j], s.minimum[j], out);
      store_affine_value(second, s.scale[j + 1], s.minimum[j + 1], out + 32);
    }
  }
}

HWY_INLINE void decode_block(const BlockQ6K& block, float* values) {
  const float d = float_from_f16(block.d);
  const Int middle = splat_int(32);
  for (size_t half = 0; half < 2; ++half, values += 128) {
    const uint8_t* low_bits = block.low_bits + 64 * half;
    const uint8_t* high_bits = block.high_bits + 32 * half;
    for (size_t i = 0; i < 32; i += kLanes) {
      const Int ac = load_bytes(low_bits + i);
      const Int bd = load_bytes(low_bits + 32 + i);
      const Int high = load_bytes(high_bits + i);
      const Int low[4] = {hn::And(ac, splat_int(15)), hn::And(bd, splat_int(15)),
                          hn::ShiftRight<4>(ac), hn::ShiftRight<4>(bd)};
      HWY_UNROLL(4)
      for (size_t q = 0; q < 4; ++q) {
        const Int code = hn::Or(low[q], hn::ShiftLeft<4>(bits_from<2>(high, 2 * q)));
        const int level = block.scales[8 * half + 2 * q + i / 16];
        store_value(hn::Sub(code, middle), d * static_cast<float>(level), values + 32 * q + i);
      }
    }
  }
}

template <class Block>
void decode_blocks(const Block* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b) decode_block(in[b], values + b * kValues);
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_DECODER(decode_q2_k, decode_blocks<BlockQ2K>, BlockQ2K)
CKPT_SIMD_DECODER(decode_q3_k, decode_blocks<BlockQ3K>, BlockQ3K)
CKPT_SIMD_DECODER(decode_q4_k, decode_blocks<BlockQ4K>, BlockQ4K)
CKPT_SIMD_DECODER(decode_q5_k, decode_blocks<BlockQ5K>, BlockQ5K)
CKPT_SIMD_DECODER(decode_q6_k, decode_blocks<BlockQ6K>, BlockQ6K)

}  // namespace ckpt
#endif  // HWY_ONCE
