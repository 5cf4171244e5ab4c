// Kernels that decode K-quants: kLanes codes at a time.
//
// value = (d S) q - (dmin M), or (d S) (q - middle), each product rounded. k_layout.h shows which
// codes share bytes. A vector stays within its sub-block, since kLanes is at most 16.
//
// Note: Q6_K's levels S are signed bytes, Q3_K's are stored plus 32.
#include <cstddef>

#include "core/model/float_convert.h"
#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_levels.h"
#include "quantizers/ggml/k/k_quants.h"

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

// Returns bits first..first + kBits - 1.
template <int kBits>
HWY_INLINE Int bits_from(Int value, size_t first) {
  return hn::And(hn::ShiftRightSame(value, static_cast<int>(first)), splat_int((1 << kBits) - 1));
}

// Returns `bit` in the lanes where bit j of the value is set.
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
        const int level = level_at(block, static_cast<uint32_t>(8 * half + 2 * q + i / 16));
        store_value(code, d * static_cast<float>(level), values + 128 * half + 32 * q + i);
      }
    }
  }
}

template <class Block>  // with sub-blocks of 32 values
HWY_INLINE void decode_block(const Block& block, float* values) {
  const float d = float_from_f16(block.d);
  const float dmin = float_from_f16(block.dmin);
  const Levels levels = unpack_levels(block.scales);
  float scales[8], minimums[8];
  for (size_t j = 0; j < 8; ++j) {
    scales[j] = d * static_cast<float>(levels.scales[j]);
    minimums[j] = dmin * static_cast<float>(levels.minimums[j]);
  }
  const uint8_t* codes = block.codes;
  for (size_t j = 0; j < 8; j += 2) {
    for (size_t i = 0; i < 32; i += kLanes) {
      const Int bytes = load_bytes(codes + 16 * j + i);
      Int first = hn::And(bytes, splat_int(15)), second = hn::ShiftRight<4>(bytes);
      if constexpr (kFiveBits<Block>) {
        const uint8_t* high_bits = block.high_bits;
        const Int high = load_bytes(high_bits + i);
        first = hn::Or(first, bit_if_set(high, j, 16));
        second = hn::Or(second, bit_if_set(high, j + 1, 16));
      }
      float* out = values + 32 * j + i;
      store_affine_value(first, scales[j], minimums[j], out);
      store_affine_value(second, scales[j + 1], minimums[j + 1], out + 32);
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

#define CKPT_DECODED(name, Block) CKPT_SIMD_DECODER(decode_##name, decode_blocks<Block>, Block)
CKPT_K_TYPES(CKPT_DECODED)
#undef CKPT_DECODED

}  // namespace ckpt
#endif  // HWY_ONCE
