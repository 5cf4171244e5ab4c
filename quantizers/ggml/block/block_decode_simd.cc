// Kernels that decode Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0, kLanes codes at a time.
//
// value = d (q - middle), or d q + m; code j and code j + 16 share a byte (k_layout.h).
// Note: the product is rounded before m is added.
#include <cstddef>

#include "core/model/float_convert.h"
#include "core/simd/dispatch.h"
#include "quantizers/ggml/block/block_quants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/block/block_decode_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kValues = 32;

HWY_INLINE Int load_codes(const uint8_t* from) {
  return hn::PromoteTo(kI, hn::LoadU(ByteTag(), from));
}

// Returns 16 in the lanes whose bit (first + lane) is set in `bits`.
HWY_INLINE Int fifth_bits(uint32_t bits, size_t first) {
  const Int shifted = splat_int(static_cast<int32_t>(bits >> first));
  const Int lane_bit = hn::Shl(splat_int(1), hn::Iota(kI, 0));
  return hn::IfThenElseZero(hn::TestBit(shifted, lane_bit), splat_int(16));
}

template <class Block>
HWY_INLINE Float value_of(Int code, Float d, Float m) {
  if constexpr (kHasMinimum<Block>) {
    return hn::Add(hn::Mul(hn::ConvertTo(kF, code), d), m);
  }
  const Int centered = hn::Sub(code, splat_int(kFiveBits<Block> ? 16 : 8));
  return hn::Mul(hn::ConvertTo(kF, centered), d);
}

template <class Block>
HWY_INLINE void decode_block(const Block& block, float* values) {
  const uint8_t* codes = block.codes;
  const Float d = splat(float_from_f16(block.d));
  Float m = d;
  if constexpr (kHasMinimum<Block>) m = splat(float_from_f16(block.m));
  for (size_t i = 0; i < kValues / 2; i += kLanes) {
    const Int pair = load_codes(codes + i);
    Int low = hn::And(pair, splat_int(15));
    Int high = hn::ShiftRight<4>(pair);
    if constexpr (kFiveBits<Block>) {
      low = hn::Or(low, fifth_bits(block.high_bits, i));
      high = hn::Or(high, fifth_bits(block.high_bits, i + kValues / 2));
    }
    hn::StoreU(value_of<Block>(low, d, m), kF, values + i);
    hn::StoreU(value_of<Block>(high, d, m), kF, values + i + kValues / 2);
  }
}

template <>
HWY_INLINE void decode_block<BlockQ8_0>(const BlockQ8_0& block, float* values) {
  const hn::Rebind<int8_t, FloatTag> bytes;
  const int8_t* codes = block.codes;
  const Float d = splat(float_from_f16(block.d));
  for (size_t i = 0; i < kValues; i += kLanes) {
    const Int code = hn::PromoteTo(kI, hn::LoadU(bytes, codes + i));
    hn::StoreU(hn::Mul(hn::ConvertTo(kF, code), d), kF, values + i);
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
CKPT_WEIGHTED_BLOCKS(CKPT_DECODED)
CKPT_DECODED(q8_0, BlockQ8_0)
#undef CKPT_DECODED

}  // namespace ckpt
#endif  // HWY_ONCE
