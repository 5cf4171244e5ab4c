// Computes final codes and bytes of K-quants with minimums from known levels, in memory order.
//
// code = clamp(round((x + minimum) / scale), 0, top). Bytes: k_layout.h.
//
// Note: if scale is 0, the code is that of the search, computed again from the inverse and start
// that won. Quotients may be huge, so the rounding is ggml's full one. Included once per target by
// *_simd.cc files only.
#if defined(CKPT_SIMD_AFFINE_PACK_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_AFFINE_PACK_H
#undef CKPT_SIMD_AFFINE_PACK_H
#else
#define CKPT_SIMD_AFFINE_PACK_H
#endif

#include "quantizers/ggml/affine.h"
#include "quantizers/ggml/k/k_levels.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// The results of a batch's searches, by sub-block.
template <size_t kSubs>
struct BatchSearchResults {
  alignas(64) float scale[kSubs * kLanes];
  alignas(64) float minimum[kSubs * kLanes];
  alignas(64) float inverse[kSubs * kLanes];
  alignas(64) float start[kSubs * kLanes];
  alignas(64) float weight[kSubs * kLanes];
  alignas(64) int32_t bad[kSubs * kLanes];
  AffineSearchResults places() { return {scale, minimum, inverse, start, weight, bad}; }
};

// The levels of a batch's scales, or of its minimums.
template <size_t kSubs>
struct BatchLevels {
  alignas(64) float level[kSubs * kLanes];  // level j of block b at [j kLanes + b]
  alignas(64) float scale[kLanes];          // value of `half`
  alignas(64) int32_t half[kLanes];
  alignas(64) int32_t bad[kLanes];
};

template <size_t kSubs>
HWY_INLINE void store_batch_scale(Float scale, Mask bad, BatchLevels<kSubs>& out) {
  const Int half = f16_bits_from_float(scale);
  hn::Store(half, kI, out.half);
  hn::Store(float_from_f16_bits(half), kF, out.scale);
  hn::Store(flags(bad), kI, out.bad);
}

// levels[0] belongs to the scales, levels[1] to the minimums.
template <size_t kSubs>
HWY_INLINE bool is_bad(const BatchSearchResults<kSubs>& found, const BatchLevels<kSubs>* levels,
                       size_t b) {
  int32_t bad = levels[0].bad[b] | levels[1].bad[b];
  for (size_t j = 0; j < kSubs; ++j) bad |= found.bad[b * kSubs + j];
  return bad != 0;
}

// The parameters for rounding one sub-block.
struct AffineRounding {
  float scale, minimum;  // stored values
  float inverse, start;  // values of the search
};

// Returns the codes of kLanes values of one sub-block.
template <int32_t kTop>
HWY_INLINE Int affine_codes(const float* values, const AffineRounding& r) {
  const Float x = hn::LoadU(kF, values);
  const Float scaled = HWY_UNLIKELY(r.scale == 0)
                           ? hn::Mul(splat(r.inverse), hn::Sub(x, splat(r.start)))
                           : hn::Div(hn::Add(x, splat(r.minimum)), splat(r.scale));
  return clamp_int(round_to_int_lanes(scaled), 0, kTop);
}

HWY_INLINE void pack_codes(const float* values, const AffineRounding* roundings, BlockQ2K& out) {
  uint8_t* bytes = out.codes;
  for (size_t half = 0; half < 2; ++half) {
    for (size_t i = 0; i < 32; i += kLanes) {
      const float* from = values + 128 * half + i;
      const AffineRounding* r = roundings + 8 * half + i / 16;
      const Int a = affine_codes<3>(from, r[0]);
      const Int b = hn::ShiftLeft<2>(affine_codes<3>(from + 32, r[2]));
      const Int c = hn::ShiftLeft<4>(affine_codes<3>(from + 64, r[4]));
      const Int d = hn::ShiftLeft<6>(affine_codes<3>(from + 96, r[6]));
      store_low_bytes(hn::Or(hn::Or(a, b), hn::Or(c, d)), bytes + 32 * half + i);
    }
  }
}

template <class Block>  // with sub-blocks of 32 values
HWY_INLINE void pack_codes(const float* values, const AffineRounding* roundings, Block& out) {
  uint8_t* bytes = out.codes;
  for (size_t i = 0; i < 32; i += kLanes) {
    Int fifth = splat_int(0);
    for (size_t c = 4; c-- > 0;) {  // in reverse: the last ones end in the top bits
      const float* from = values + 64 * c + i;
      Int low = affine_codes<Block::kTop>(from, roundings[2 * c]);
      const Int high = affine_codes<Block::kTop>(from + 32, roundings[2 * c + 1]);
      if constexpr (kFiveBits<Block>) {
        const Int pair =
            hn::Or(hn::ShiftRight<4>(low), hn::And(hn::ShiftRight<3>(high), splat_int(2)));
        fifth = hn::Or(hn::ShiftLeft<2>(fifth), pair);
        low = hn::And(low, splat_int(15));
      }
      store_low_bytes(hn::Or(low, hn::ShiftLeft<4>(high)), bytes + 32 * c + i);
    }
    if constexpr (kFiveBits<Block>) store_low_bytes(fifth, out.high_bits + i);
  }
}

template <class Block, size_t kSubs>
HWY_INLINE void finish_block(const float* values, size_t b, const BatchSearchResults<kSubs>& found,
                             const BatchLevels<kSubs>* levels, Block& out) {
  uint8_t scales[kSubs];
  uint8_t minimums[kSubs];
  AffineRounding roundings[kSubs];
  for (size_t j = 0; j < kSubs; ++j) {
    const float scale = levels[0].level[j * kLanes + b];
    const float minimum = levels[1].level[j * kLanes + b];
    scales[j] = static_cast<uint8_t>(scale);
    minimums[j] = static_cast<uint8_t>(minimum);
    roundings[j] = {levels[0].scale[b] * scale, levels[1].scale[b] * minimum,
                    found.inverse[b * kSubs + j], found.start[b * kSubs + j]};
  }
  out.d = static_cast<uint16_t>(levels[0].half[b]);
  out.dmin = static_cast<uint16_t>(levels[1].half[b]);
  ckpt::pack_levels(scales, minimums, out);
  pack_codes(values, roundings, out);
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_AFFINE_PACK_H
