// Computes final codes and bytes of Q3_K and Q6_K blocks from known levels, in memory order.
//
// code = clamp(round(x / scale), -top, top - 1) + top, scale = f32(d) level. Bytes: k_layout.h.
//
// Note: if scale is 0, the code is that of the search, computed again from the inverse that won, or
// 0 if the sub-block was zero. Quotients may be huge, so the rounding is ggml's full one. Included
// once per target by *_simd.cc files only.
#if defined(CKPT_SIMD_SIGNED_PACK_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_SIGNED_PACK_H
#undef CKPT_SIMD_SIGNED_PACK_H
#else
#define CKPT_SIMD_SIGNED_PACK_H
#endif

#include <cstring>

#include "quantizers/ggml/k/k_layout.h"
#include "quantizers/ggml/k/k_levels.h"
#include "quantizers/ggml/signed.h"
#include "quantizers/simd/batch.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// The results of searches of Q3_K and Q6_K blocks, and the levels that store their scales.
//
// Note: arrays by sub-block are ordered block by block; arrays of levels have one block per lane.

constexpr size_t kSignedSub = 16;
constexpr size_t kSignedSubs = kBlock / kSignedSub;

// The results of a batch's searches, by sub-block.
struct SignedSearchResults {
  alignas(64) float scale[kSignedSubs * kLanes];
  alignas(64) float inverse[kSignedSubs * kLanes];
  alignas(64) int32_t dead[kSignedSubs * kLanes];
  alignas(64) int32_t bad[kSignedSubs * kLanes];
  // Null: the codes of the search follow from `inverse`. Otherwise [s][e kLanes] is code - top of
  // value e of sub-block s.
  const float* const* levels = nullptr;
};

// The stored scales of a batch.
struct SignedLevels {
  alignas(64) float level[kSignedSubs * kLanes];  // level j of block b at [j kLanes + b]
  alignas(64) float d[kLanes];                    // value of `half`
  alignas(64) int32_t half[kLanes];
  alignas(64) int32_t dead[kLanes];  // no scale reaches kZeroMagnitude
  alignas(64) int32_t bad[kLanes];
};

HWY_INLINE void store_found(const SignedLanes& lanes, size_t at, SignedSearchResults& out) {
  hn::Store(lanes.scale, kF, out.scale + at);
  hn::Store(lanes.inverse, kF, out.inverse + at);
  hn::Store(flags(lanes.dead), kI, out.dead + at);
  hn::Store(flags(lanes.bad), kI, out.bad + at);
}

HWY_INLINE void store_block_scales(Float d, Mask bad, SignedLevels& out) {
  const Int half = f16_bits_from_float(d);
  hn::Store(half, kI, out.half);
  hn::Store(float_from_f16_bits(half), kF, out.d);
  const Mask infinite = hn::RebindMask(kF, hn::Gt(magnitude_bits(d), splat_int(kInfBits - 1)));
  hn::Store(flags(hn::Or(bad, infinite)), kI, out.bad);
}

// Finds levels: the scale of largest magnitude gets `extreme_level` (-128 or -32), others at most
// -extreme_level - 1; d = 1 / (extreme_level / scale).
HWY_INLINE void find_extreme_levels(const BlockBatch& batch, const SignedSearchResults& found,
                                    int32_t extreme_level, SignedLevels& out) {
  alignas(64) float scales[kSignedSubs * kLanes];
  const float* rows[kLanes];
  found_rows<kSignedSubs>(batch, found.scale, rows);
  transpose_rows(rows, kSignedSubs, scales);
  SignedLanes lanes;
  find_extremes<kSignedSubs>(scales, lanes);
  const Float inverse = hn::Div(splat(static_cast<float>(extreme_level)), lanes.extreme);
  const Mask zero = hn::Eq(lanes.extreme, hn::Zero(kF));
  const Mask infinite =
      hn::RebindMask(kF, hn::Gt(magnitude_bits(inverse), splat_int(kInfBits - 1)));
  for (size_t j = 0; j < kSignedSubs; ++j) {
    const Int level = round_to_int_lanes(hn::Mul(inverse, hn::Load(kF, scales + j * kLanes)));
    const Int limited = clamp_int(level, extreme_level, -extreme_level - 1);
    hn::Store(
        hn::IfThenElse(zero, splat(static_cast<float>(extreme_level)), hn::ConvertTo(kF, limited)),
        kF, out.level + j * kLanes);
  }
  store_block_scales(hn::IfThenZeroElse(zero, hn::Div(splat(1.0f), inverse)),
                     hn::Or(lanes.bad, hn::AndNot(zero, infinite)), out);
  hn::Store(flags(lanes.dead), kI, out.dead);
}

HWY_INLINE bool is_bad(const SignedSearchResults& found, const SignedLevels& levels, size_t b) {
  int32_t bad = levels.bad[b];
  for (size_t j = 0; j < kSignedSubs; ++j) bad |= found.bad[b * kSignedSubs + j];
  return bad != 0;
}

// The parameters for rounding one sub-block.
struct SignedRounding {
  float scale;    // stored value
  float inverse;  // value of the search
  int32_t dead;
  const float* levels;  // levels of the search, kLanes apart; or null
};

// The search's codes - top for values at..at + kLanes - 1 of a sub-block that is not zero.
HWY_INLINE Int search_codes(Float x, const SignedRounding& r, size_t at) {
  if (r.levels == nullptr) return round_to_int_lanes(hn::Mul(splat(r.inverse), x));
  alignas(64) int32_t codes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) codes[i] = static_cast<int32_t>(r.levels[(at + i) * kLanes]);
  return hn::Load(kI, codes);
}

// Returns codes 0..2 top - 1 of values at..at + kLanes - 1 of a sub-block.
template <int32_t kTop>
HWY_INLINE Int signed_codes(const float* values, const SignedRounding& r, size_t at) {
  const Float x = hn::LoadU(kF, values);
  if (HWY_UNLIKELY(r.scale == 0)) {
    if (r.dead != 0) return splat_int(0);
    return hn::Add(clamp_int(search_codes(x, r, at), -kTop, kTop - 1), splat_int(kTop));
  }
  const Int code = round_to_int_lanes(hn::Div(x, splat(r.scale)));
  return hn::Add(clamp_int(code, -kTop, kTop - 1), splat_int(kTop));
}

HWY_INLINE void set_roundings(size_t b, const SignedSearchResults& found,
                              const SignedLevels& levels, SignedRounding* out) {
  for (size_t j = 0; j < kSignedSubs; ++j) {
    const size_t sub = b * kSignedSubs + j;
    out[j] = {levels.d[b] * levels.level[j * kLanes + b], found.inverse[sub], found.dead[sub],
              found.levels == nullptr ? nullptr : found.levels[sub]};
  }
}

HWY_INLINE void finish_block(const float* values, size_t b, const SignedSearchResults& found,
                             const SignedLevels& levels, BlockQ6K& out) {
  if (levels.dead[b] != 0) {
    std::memset(&out, 0, sizeof(out));
    return;
  }
  SignedRounding roundings[kSignedSubs];
  set_roundings(b, found, levels, roundings);
  uint8_t* low_bits = out.low_bits;
  uint8_t* high_bits = out.high_bits;
  for (size_t half = 0; half < 2; ++half, low_bits += 64, high_bits += 32) {
    for (size_t i = 0; i < 32; i += kLanes) {
      const float* from = values + 128 * half + i;
      const SignedRounding* r = roundings + 8 * half + i / 16;
      const Int q0 = signed_codes<32>(from, r[0], i % 16);
      const Int q1 = signed_codes<32>(from + 32, r[2], i % 16);
      const Int q2 = signed_codes<32>(from + 64, r[4], i % 16);
      const Int q3 = signed_codes<32>(from + 96, r[6], i % 16);
      const Int low = splat_int(15);
      store_low_bytes(hn::Or(hn::And(q0, low), hn::ShiftLeft<4>(q2)), low_bits + i);
      store_low_bytes(hn::Or(hn::And(q1, low), hn::ShiftLeft<4>(q3)), low_bits + 32 + i);
      const Int upper = splat_int(0x30);
      const Int first = hn::Or(hn::ShiftRight<4>(q0), hn::ShiftRight<2>(hn::And(q1, upper)));
      const Int second = hn::Or(hn::And(q2, upper), hn::ShiftLeft<2>(hn::And(q3, upper)));
      store_low_bytes(hn::Or(first, second), high_bits + i);
    }
  }
  for (size_t j = 0; j < kSignedSubs; ++j) {
    out.scales[j] = static_cast<int8_t>(levels.level[j * kLanes + b]);
  }
  out.d = static_cast<uint16_t>(levels.half[b]);
}

HWY_INLINE void finish_block(const float* values, size_t b, const SignedSearchResults& found,
                             const SignedLevels& levels, BlockQ3K& out) {
  SignedRounding roundings[kSignedSubs];
  set_roundings(b, found, levels, roundings);
  uint8_t stored[kSignedSubs];
  for (size_t j = 0; j < kSignedSubs; ++j) {
    stored[j] = static_cast<uint8_t>(static_cast<int32_t>(levels.level[j * kLanes + b]) + 32);
  }
  pack_levels(stored, out);
  out.d = static_cast<uint16_t>(levels.half[b]);
  uint8_t* bytes = out.codes;
  uint8_t* high_bits = out.high_bits;
  for (size_t i = 0; i < 32; i += kLanes) {
    Int high = splat_int(0);
    for (size_t half = 2; half-- > 0;) {  // in reverse: the last values end in the top bits
      const float* from = values + 128 * half + i;
      const SignedRounding* r = roundings + 8 * half + i / 16;
      Int low = splat_int(0);
      for (size_t q = 4; q-- > 0;) {
        const Int code = signed_codes<4>(from + 32 * q, r[2 * q], i % 16);
        high = hn::Or(hn::Add(high, high), hn::ShiftRight<2>(code));
        low = hn::Or(hn::ShiftLeft<2>(low), hn::And(code, splat_int(3)));
      }
      store_low_bytes(low, bytes + 32 * half + i);
    }
    store_low_bytes(high, high_bits + i);
  }
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_SIGNED_PACK_H
