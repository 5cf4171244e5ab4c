// The kernel of repack.h: 16 bytes of codes at a time, which are two sub-blocks of 16 values.
//
//   codes        | v1v0 v3v2 ... v15v14 | w1w0 ... w15w14 |
//   low, high    | v0 v2 ... v14 | w0 ... |   | v1 v3 ... v15 | w1 ... |
//   interleaved  | v0 v1 v2 ... v15 |         | w0 w1 ... w15 |
//   halves       | v0 ... v7 | w0 ... w7 |    | v8 ... v15 | w8 ... w15 |
//   block        first half, second half shifted into the upper four bits
//
// Note: interleaving works on 16 bytes at a time on every target, so vectors are limited to that
// length; a block of 36 bytes has no room for more anyway.
#include "core/simd/dispatch.h"
#include "quantizers/nvfp4/repack.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/nvfp4/repack_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void pack_blocks(const std::byte* codes, const std::byte* scales, uint64_t blocks,
                 BlockNvfp4* out) {
  const hn::FixedTag<uint8_t, 16> bytes;
  const hn::FixedTag<uint64_t, 2> words;
  const auto low_bits = hn::Set(bytes, uint8_t{15});
  const auto* in = reinterpret_cast<const uint8_t*>(codes);
  for (uint64_t b = 0; b < blocks; ++b) {
    for (uint64_t s = 0; s < 4; ++s) {
      const auto scale = static_cast<uint8_t>(scales[b * 4 + s]);
      out[b].scales[s] = static_cast<uint8_t>(scale & 0x7F);
    }
    for (uint64_t at = 0; at < 32; at += 16) {
      const auto both = hn::LoadU(bytes, in + b * 32 + at);
      const auto low = hn::And(both, low_bits);
      const auto high = hn::And(hn::ShiftRight<4>(both), low_bits);
      const auto v = hn::BitCast(words, hn::InterleaveLower(bytes, low, high));
      const auto w = hn::BitCast(words, hn::InterleaveUpper(bytes, low, high));
      const auto first = hn::BitCast(bytes, hn::InterleaveLower(words, v, w));
      const auto second = hn::BitCast(bytes, hn::InterleaveUpper(words, v, w));
      hn::StoreU(hn::Or(first, hn::ShiftLeft<4>(second)), bytes, out[b].codes + at);
    }
  }
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

void pack_nvfp4_blocks_scalar(const std::byte* codes, const std::byte* scales, uint64_t blocks,
                              BlockNvfp4* out) {
  const auto code = [&](uint64_t value) {
    const auto byte = static_cast<uint8_t>(codes[value / 2]);
    return value % 2 == 0 ? byte & 15 : byte >> 4;
  };
  for (uint64_t b = 0; b < blocks; ++b) {
    for (uint64_t s = 0; s < 4; ++s) {
      const auto scale = static_cast<uint8_t>(scales[b * 4 + s]);
      out[b].scales[s] = static_cast<uint8_t>(scale & 0x7F);
      for (uint64_t j = 0; j < 8; ++j) {
        const uint64_t value = b * 64 + s * 16 + j;
        out[b].codes[s * 8 + j] = static_cast<uint8_t>(code(value) | code(value + 8) << 4);
      }
    }
  }
}

CKPT_SIMD_FUNCTION(void, pack_nvfp4_blocks, pack_blocks,
                   (const std::byte* codes, const std::byte* scales, uint64_t blocks,
                    BlockNvfp4* out),
                   (codes, scales, blocks, out))

}  // namespace ckpt
#endif  // HWY_ONCE
