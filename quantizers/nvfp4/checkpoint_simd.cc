// Kernels of checkpoint.h.
//
// Largest magnitudes of kLanes blocks come from a tree: halves of vectors are interleaved and
// compared until lane b holds block b. Codes of eight vectors are combined into one:
//
//   codes            32-bit lanes    e0 | o0 | e1 | o1 ...            even and odd places in a row
//   four vectors     32-bit lanes    bytes A.e0 B.e0 C.e0 D.e0 | A.o0 B.o0 C.o0 D.o0 ...
//   x | x >> 28      64-bit lanes    bytes A0 B0 C0 D0, then garbage; A0 = A.e0 + 16 A.o0
//   twice, even 32-bit lanes, bytes shuffled: A0 A1 A2 ... B0 B1 ... H0 H1 ...
//
// Note: a magnitude is rounded by adding 2^22, 2^23 or 2^24, whose last bits are worth the steps of
// E2M1 below 2, 4 and 8; the power's last bits hold 6, so that the sum of the exponent's and the
// last bits is the code (see round_to_e2m1).
#include <cstddef>
#include <cstring>

#include "core/simd/dispatch.h"
#include "quantizers/nvfp4/checkpoint.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/nvfp4/checkpoint_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/e2m1.h"
#include "quantizers/simd/e4m3.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kBlock = kE2m1BlockValues;
constexpr size_t kBlockVectors = kBlock / kLanes;
constexpr hn::Repartition<uint64_t, FloatTag> kW64;
constexpr hn::Repartition<uint8_t, FloatTag> kBytes;

// ---- largest magnitudes ------------------------------------------------------------------------

// Reduces the magnitudes of one block to one vector.
HWY_INLINE Int block_magnitude(const float* block) {
  Int out = magnitude_bits(hn::LoadU(kF, block));
  for (size_t i = 1; i < kBlockVectors; ++i) {
    out = hn::Max(out, magnitude_bits(hn::LoadU(kF, block + i * kLanes)));
  }
  return out;
}

HWY_INLINE Int max_interleaved(Int a, Int b) {
  return hn::Max(hn::InterleaveLower(kI, a, b), hn::InterleaveUpper(kI, a, b));
}

// Reduces four blocks: each four lanes hold the maxima of four blocks there.
HWY_INLINE Int max_of_four_blocks(const float* blocks) {
  const Int a = max_interleaved(block_magnitude(blocks), block_magnitude(blocks + kBlock));
  const Int b =
      max_interleaved(block_magnitude(blocks + 2 * kBlock), block_magnitude(blocks + 3 * kBlock));
  const auto wide_a = hn::BitCast(kW64, a);
  const auto wide_b = hn::BitCast(kW64, b);
  return hn::Max(hn::BitCast(kI, hn::InterleaveLower(kW64, wide_a, wide_b)),
                 hn::BitCast(kI, hn::InterleaveUpper(kW64, wide_a, wide_b)));
}

// Compares the lower halves of two vectors with the upper ones.
HWY_INLINE Int max_of_halves(Int a, Int b) {
  return hn::Max(hn::ConcatLowerLower(kI, b, a), hn::ConcatUpperUpper(kI, b, a));
}

// Returns in lane b the largest magnitude of block b.
HWY_INLINE Int max_of_blocks(const float* blocks) {
  if constexpr (kLanes == 4) {
    return max_of_four_blocks(blocks);
  } else if constexpr (kLanes == 8) {
    return max_of_halves(max_of_four_blocks(blocks), max_of_four_blocks(blocks + 4 * kBlock));
  } else {
    // Each four lanes hold blocks 0-3, 0-3, 4-7, 4-7 and 8-11, 8-11, 12-15, 12-15.
    const Int a =
        max_of_halves(max_of_four_blocks(blocks), max_of_four_blocks(blocks + 4 * kBlock));
    const Int b = max_of_halves(max_of_four_blocks(blocks + 8 * kBlock),
                                max_of_four_blocks(blocks + 12 * kBlock));
    const Int low = hn::Max(a, hn::SwapAdjacentBlocks(a));
    const Int high = hn::Max(b, hn::SwapAdjacentBlocks(b));
    const Int mixed = hn::OddEvenBlocks(high, low);  // blocks 0-3, 8-11, 4-7, 12-15
    alignas(64) static constexpr int32_t kOrder[16] = {0, 1, 2, 3, 8,  9,  10, 11,
                                                       4, 5, 6, 7, 12, 13, 14, 15};
    return hn::TableLookupLanes(mixed, hn::SetTableIndices(kI, kOrder));
  }
}

// ---- codes -------------------------------------------------------------------------------------

// Returns the E2M1 code of each lane. With p = 2^(22 + level) + 6 last bits, the sum's last bits
// are 6 + k, its exponent 149 + level: exponent x 2 + last bits = code + 304 = code modulo 16.
HWY_INLINE Int round_to_e2m1(Float value) {
  const Int magnitude = hn::Min(magnitude_bits(value), splat_int(0x40C00000));  // 6
  const Int level = hn::And(hn::Max(magnitude, splat_int(0x3F800000)), splat_int(0x7F800000));
  const Int power = hn::Add(level, splat_int((22 << 23) | 6));
  const Int sum = bits_of(hn::Add(float_of(magnitude), float_of(power)));
  const Int code = hn::And(hn::Add(sum, hn::ShiftRight<22>(sum)), splat_int(7));
  const auto is_negative = hn::RebindMask(kI, hn::Lt(value, hn::Zero(kF)));
  return hn::Or(code, hn::IfThenElseZero(is_negative, splat_int(8)));
}

HWY_INLINE Int codes_of_vector(const float* values, const float* divisors, size_t vector) {
  const Float divisor = splat(divisors[vector / kBlockVectors]);
  return round_to_e2m1(hn::Div(hn::LoadU(kF, values + vector * kLanes), divisor));
}

// Returns four vectors' codes in the lower half of each 64 bits.
HWY_INLINE Int codes_of_four(const float* values, const float* divisors, size_t vector) {
  const Int a = codes_of_vector(values, divisors, vector);
  const Int b = codes_of_vector(values, divisors, vector + 1);
  const Int c = codes_of_vector(values, divisors, vector + 2);
  const Int d = codes_of_vector(values, divisors, vector + 3);
  const Int ab = hn::Or(a, hn::ShiftLeft<8>(b));
  const Int cd = hn::Or(c, hn::ShiftLeft<8>(d));
  const auto all = hn::BitCast(kW64, hn::Or(ab, hn::ShiftLeft<16>(cd)));
  return hn::BitCast(kI, hn::Or(all, hn::ShiftRight<28>(all)));
}

// Orders the bytes of eight vectors as in the row.
HWY_INLINE Int order_bytes(Int codes) {
  alignas(16) static constexpr uint8_t kOfFour[16] = {0, 4,  1, 5,  2,  6,  3,  7,
                                                      8, 12, 9, 13, 10, 14, 11, 15};
  alignas(16) static constexpr uint8_t kOfMore[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                      2, 6, 10, 14, 3, 7, 11, 15};
  const auto order = hn::LoadDup128(kBytes, kLanes == 4 ? kOfFour : kOfMore);
  const Int out = hn::BitCast(kI, hn::TableLookupBytes(hn::BitCast(kBytes, codes), order));
  if constexpr (kLanes < 16) {
    return out;
  } else {
    alignas(64) static constexpr int32_t kOrder[16] = {0, 4,  1, 5,  2,  6,  3,  7,
                                                       8, 12, 9, 13, 10, 14, 11, 15};
    return hn::TableLookupLanes(out, hn::SetTableIndices(kI, kOrder));
  }
}

HWY_INLINE Float squared_errors(const E2m1Block& block, Float divisor, size_t vector) {
  const Float value = hn::LoadU(kF, block.values + vector * kLanes);
  const Float nearest = hn::Mul(nearest_e2m1(hn::Div(value, divisor)), divisor);
  const Float error = hn::Sub(hn::Abs(value), nearest);
  return hn::Mul(hn::LoadU(kF, block.weights + vector * kLanes), hn::Mul(error, error));
}

// Adds elements 8 apart first, then 4, 2 and 1 apart: vectors, then halves of vectors.
template <size_t kVectors>
HWY_INLINE Float sum_vectors(const E2m1Block& block, Float divisor, size_t first, size_t apart) {
  if constexpr (kVectors == 1) {
    return squared_errors(block, divisor, first);
  } else {
    return hn::Add(sum_vectors<kVectors / 2>(block, divisor, first, 2 * apart),
                   sum_vectors<kVectors / 2>(block, divisor, first + apart, 2 * apart));
  }
}

template <class D>
HWY_INLINE float sum_lanes([[maybe_unused]] D d, hn::Vec<D> lanes) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    lanes = hn::Add(lanes, hn::Shuffle1032(lanes));
    return hn::GetLane(hn::Add(lanes, hn::Shuffle2301(lanes)));
  } else {
    const hn::Half<D> half;
    return sum_lanes(half, hn::Add(hn::LowerHalf(half, lanes), hn::UpperHalf(half, lanes)));
  }
}

// ---- decoding ----------------------------------------------------------------------------------

#if HWY_TARGET == HWY_AVX3
// Decodes 16 values. The table uses only the last four bits of lane i's number, which are code i.
HWY_INLINE void unpack_block(const std::byte* codes, Float scale, float* values) {
  alignas(64) static constexpr float kValues[16] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                                    -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  uint64_t word;
  std::memcpy(&word, codes, sizeof word);
  const auto shifts = hn::ShiftLeft<3>(hn::Iota(kW64, 0));
  const auto even = hn::Shr(hn::Set(kW64, word), shifts);
  const Int index = hn::OddEven(hn::BitCast(kI, hn::ShiftLeft<28>(even)), hn::BitCast(kI, even));
  const Float value = Float{_mm512_permutexvar_ps(index.raw, hn::Load(kF, kValues).raw)};
  hn::StoreU(hn::Mul(value, scale), kF, values);
}
#elif HWY_TARGET == HWY_AVX2
HWY_INLINE void unpack_block(const std::byte* codes, Float scale, float* values) {
  alignas(32) static constexpr float kValues[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const Float table = hn::Load(kF, kValues);
  const Word shifts = hn::ShiftLeft<2>(hn::Iota(kW, 0));
  for (size_t i = 0; i < kBlockVectors; ++i) {
    uint32_t word;
    std::memcpy(&word, codes + i * sizeof word, sizeof word);
    const Word index = hn::Shr(hn::Set(kW, word), shifts);
    // The instruction only uses the last three bits.
    const Float value = Float{_mm256_permutevar8x32_ps(table.raw, index.raw)};
    const Word sign = hn::And(hn::ShiftLeft<28>(index), hn::Set(kW, 0x80000000u));
    const Float signed_value = hn::Xor(value, hn::BitCast(kF, sign));
    hn::StoreU(hn::Mul(signed_value, scale), kF, values + i * kLanes);
  }
}
#else
// E2M1 numbers only need the upper two bytes of a float.
HWY_INLINE void unpack_block(const std::byte* codes, Float scale, float* values) {
  alignas(16) static constexpr uint8_t kUpper[16] = {0x00, 0x3F, 0x3F, 0x3F, 0x40, 0x40,
                                                     0x40, 0x40, 0x80, 0xBF, 0xBF, 0xBF,
                                                     0xC0, 0xC0, 0xC0, 0xC0};
  alignas(16) static constexpr uint8_t kLower[16] = {0x00, 0x00, 0x80, 0xC0, 0x00, 0x40,
                                                     0x80, 0xC0, 0x00, 0x00, 0x80, 0xC0,
                                                     0x00, 0x40, 0x80, 0xC0};
  const hn::Repartition<uint16_t, FloatTag> halves;
  uint64_t word;
  std::memcpy(&word, codes, sizeof word);
  const auto pairs = hn::BitCast(halves, hn::Set(kW64, word));
  const auto fifteens = hn::Set(halves, 0x0F0F);
  const auto low = hn::BitCast(kBytes, hn::And(pairs, fifteens));
  const auto high = hn::BitCast(kBytes, hn::And(hn::ShiftRight<4>(pairs), fifteens));
  const auto index = hn::InterleaveLower(kBytes, low, high);
  const auto upper = hn::TableLookupBytes(hn::Load(kBytes, kUpper), index);
  const auto lower = hn::TableLookupBytes(hn::Load(kBytes, kLower), index);
  const auto first = hn::BitCast(halves, hn::InterleaveLower(kBytes, lower, upper));
  const auto second = hn::BitCast(halves, hn::InterleaveUpper(kBytes, lower, upper));
  const auto zero = hn::Zero(halves);
  const auto store = [&](auto bits, size_t at) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::BitCast(kF, bits), scale), kF, values + at);
  };
  store(hn::InterleaveLower(halves, zero, first), 0);
  store(hn::InterleaveUpper(halves, zero, first), 4);
  store(hn::InterleaveLower(halves, zero, second), 8);
  store(hn::InterleaveUpper(halves, zero, second), 12);
}
#endif

}  // namespace

void block_amax(const float* values, uint64_t blocks, float* amax) {
  uint64_t b = 0;
  for (; b + kLanes <= blocks; b += kLanes) {
    hn::StoreU(float_of(max_of_blocks(values + b * kBlock)), kF, amax + b);
  }
  find_block_amax_scalar(values + b * kBlock, blocks - b, amax + b);
}

void pack(const float* values, uint64_t blocks, const float* divisors, std::byte* codes) {
  constexpr size_t kStep = 8 / kBlockVectors;  // blocks per eight vectors
  uint64_t b = 0;
  for (; b + kStep <= blocks; b += kStep) {
    const Int low = codes_of_four(values + b * kBlock, divisors + b, 0);
    const Int high = codes_of_four(values + b * kBlock, divisors + b, 4);
    const Int bytes = order_bytes(hn::ConcatEven(kI, high, low));
    hn::StoreU(hn::BitCast(kBytes, bytes), kBytes,
               reinterpret_cast<uint8_t*>(codes + b * kE2m1BlockBytes));
  }
  pack_e2m1_scalar(values + b * kBlock, blocks - b, divisors + b, codes + b * kE2m1BlockBytes);
}

void unpack(const std::byte* codes, uint64_t blocks, const float* scales, float* values) {
  for (uint64_t b = 0; b < blocks; ++b) {
    unpack_block(codes + b * kE2m1BlockBytes, splat(scales[b]), values + b * kBlock);
  }
}

void make_scales(const float* amax, uint64_t blocks, float tensor_scale, std::byte* scales,
                 float* divisors) {
  uint64_t b = 0;
  for (; b + kLanes <= blocks; b += kLanes) {
    const Int code = nvfp4_scale_codes(hn::LoadU(kF, amax + b), tensor_scale);
    hn::StoreU(low_bytes(code), ByteTag(), reinterpret_cast<uint8_t*>(scales + b));
    hn::StoreU(hn::Mul(float_of_positive_e4m3(code), splat(tensor_scale)), kF, divisors + b);
  }
  make_nvfp4_scales_scalar(amax + b, blocks - b, tensor_scale, scales + b, divisors + b);
}

void errors_of(const E2m1Block& block, const float* divisors, uint64_t count, float* errors) {
  for (uint64_t c = 0; c < count; ++c) {
    errors[c] = sum_lanes(kF, sum_vectors<kBlockVectors>(block, splat(divisors[c]), 0, 1));
  }
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_FUNCTION(void, find_block_amax, block_amax,
                   (const float* values, uint64_t blocks, float* amax), (values, blocks, amax))
CKPT_SIMD_FUNCTION(void, pack_e2m1, pack,
                   (const float* values, uint64_t blocks, const float* divisors, std::byte* codes),
                   (values, blocks, divisors, codes))
CKPT_SIMD_FUNCTION(void, unpack_e2m1, unpack,
                   (const std::byte* codes, uint64_t blocks, const float* scales, float* values),
                   (codes, blocks, scales, values))
CKPT_SIMD_FUNCTION(void, make_nvfp4_scales, make_scales,
                   (const float* amax, uint64_t blocks, float tensor_scale, std::byte* scales,
                    float* divisors),
                   (amax, blocks, tensor_scale, scales, divisors))
CKPT_SIMD_FUNCTION(void, find_e2m1_errors, errors_of,
                   (const E2m1Block& block, const float* divisors, uint64_t count, float* errors),
                   (block, divisors, count, errors))

}  // namespace ckpt
#endif  // HWY_ONCE
