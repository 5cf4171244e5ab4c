// Kernels that decode ggml's blocks of E2M1 codes, looking up 16 bytes of codes at a time.
//
//   bytes     v16v0 v17v1 ... (MXFP4)       two runs of v8v0 v9v1 ... v15v7 (NVFP4)
//   numbers   E[low] of all bytes, then E[high] of all bytes; 8-bit integers, widened kLanes at a
//   time
//
// Note: the table holds doubled numbers, so scales are halved.
#include <cstddef>
#include <cstdint>

#include "core/simd/dispatch.h"
#include "quantizers/nvfp4/fp4.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/nvfp4/fp4_decode_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kCodeBytes = 16;
constexpr hn::FixedTag<uint8_t, kCodeBytes> kCodes;
constexpr hn::FixedTag<int8_t, kCodeBytes> kNumbers;

// The values of 16 bytes of codes: first those of low nibbles, then those of high nibbles.
struct alignas(16) Numbers {
  int8_t low[kCodeBytes];
  int8_t high[kCodeBytes];
};

HWY_INLINE Numbers table_values(const uint8_t* codes) {
  const auto table = hn::LoadU(kNumbers, kE2m1Doubled);
  const auto bytes = hn::LoadU(kCodes, codes);
  const auto low = hn::And(bytes, hn::Set(kCodes, uint8_t{15}));
  const auto high = hn::ShiftRight<4>(bytes);
  Numbers out;
  hn::Store(hn::TableLookupBytes(table, hn::BitCast(kNumbers, low)), kNumbers, out.low);
  hn::Store(hn::TableLookupBytes(table, hn::BitCast(kNumbers, high)), kNumbers, out.high);
  return out;
}

// Multiplies kCount numbers by `scale`, with vectors of at most kCount lanes.
template <size_t kCount>
HWY_INLINE void scale_numbers(const int8_t* numbers, float scale, float* values) {
  const hn::CappedTag<float, kCount> d;
  const hn::Rebind<int8_t, decltype(d)> narrow;
  const hn::Rebind<int32_t, decltype(d)> whole;
  for (size_t i = 0; i < kCount; i += hn::Lanes(d)) {
    const auto number = hn::ConvertTo(d, hn::PromoteTo(whole, hn::LoadU(narrow, numbers + i)));
    hn::StoreU(hn::Mul(number, hn::Set(d, scale)), d, values + i);
  }
}

}  // namespace

void from_mxfp4(const BlockMxfp4* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, values += BlockMxfp4::kValues) {
    const Numbers numbers = table_values(in[b].codes);
    const float scale = mxfp4_scale(in[b].exponent);
    scale_numbers<16>(numbers.low, scale, values);
    scale_numbers<16>(numbers.high, scale, values + 16);
  }
}

void from_nvfp4(const BlockNvfp4* in, uint64_t blocks, float tensor_scale, float* values) {
  for (uint64_t b = 0; b < blocks; ++b) {
    for (size_t pair = 0; pair < 2; ++pair, values += 32) {
      const Numbers numbers = table_values(in[b].codes + kCodeBytes * pair);
      for (size_t s = 0; s < 2; ++s) {
        const float scale = nvfp4_block_scale(in[b].scales[2 * pair + s], tensor_scale);
        scale_numbers<8>(numbers.low + 8 * s, scale, values + 16 * s);
        scale_numbers<8>(numbers.high + 8 * s, scale, values + 16 * s + 8);
      }
    }
  }
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_FUNCTION(void, decode_mxfp4, from_mxfp4,
                   (const BlockMxfp4* in, uint64_t blocks, float* values), (in, blocks, values))
CKPT_SIMD_FUNCTION(void, decode_nvfp4_scaled, from_nvfp4,
                   (const BlockNvfp4* in, uint64_t blocks, float tensor_scale, float* values),
                   (in, blocks, tensor_scale, values))
void decode_nvfp4_block(const BlockNvfp4* in, uint64_t blocks, float* values) {
  decode_nvfp4_scaled(in, blocks, 1, values);
}

}  // namespace ckpt
#endif  // HWY_ONCE
