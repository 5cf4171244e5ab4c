// Kernels that encode Q4_0, Q4_1, Q5_0 and Q5_1 with column weights.
//
// A block of 32 values is one run of a search, in one lane: fit_signed for Qn_0 (ggml/signed.h),
// fit_affine for Qn_1 (ggml/affine.h). The blocks of kLanes rows are one sequence that is split
// into groups of lanes; the weights of a block need the mean square of its entire row.
//
// Note: the codes are those of the search, made with the float scale and not with the stored half
// floats. Sums over a row run from its first value to its last, so kLanes rows are summed in
// parallel. A row with a bad block goes to the scalar twin.
#include <cstddef>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/block/block_quants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/block/weighted_block_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/ggml/affine.h"
#include "quantizers/ggml/signed.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kValues = 32;
constexpr size_t kGroups = 2;
constexpr size_t kStep = kGroups * kLanes;  // blocks per search

// kLanes rows (or `count`, if fewer) that are encoded before the next ones are read.
struct RowStrip {
  const float* values;
  const float* weights;  // one per column
  size_t row_values;
  size_t blocks;  // in all rows of the strip
  alignas(64) float variance[kLanes];
};

HWY_INLINE void find_row_variances(size_t count, RowStrip& strip) {
  const float* rows[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    rows[i] = strip.values + (i < count ? i : count - 1) * strip.row_values;
  }
  const Float sum = sum_squares_rows(rows, strip.row_values);
  hn::Store(hn::Div(sum, splat(static_cast<float>(strip.row_values))), kF, strip.variance);
}

// Loads values and weights of kLanes blocks from `first` on. Lanes after the last block repeat it.
HWY_INLINE void load_blocks(const RowStrip& strip, size_t first, float* x, float* w) {
  const size_t row_blocks = strip.row_values / kValues;
  const float* rows[kLanes];
  const float* weight_rows[kLanes];
  alignas(64) float variance[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    const size_t block = first + i < strip.blocks ? first + i : strip.blocks - 1;
    rows[i] = strip.values + block * kValues;
    weight_rows[i] = strip.weights + block % row_blocks * kValues;
    variance[i] = strip.variance[block / row_blocks];
  }
  transpose_rows(rows, kValues, x);
  transpose_rows(weight_rows, kValues, w);
  const Float spread = hn::Load(kF, variance);
  for (size_t e = 0; e < kValues * kLanes; e += kLanes) {
    const Float value = hn::Load(kF, x + e);
    const Float root = hn::Sqrt(hn::Add(spread, hn::Mul(value, value)));
    hn::Store(hn::Mul(hn::Load(kF, w + e), root), kF, w + e);
  }
}

// The results of the searches, by block. Codes are clamp(round(inverse (x - start)), 0, top), or
// clamp(round(inverse x), -middle, middle - 1) + middle.
struct SearchResults {
  alignas(64) float scale[kStep];
  alignas(64) float minimum[kStep];
  alignas(64) float inverse[kStep];
  alignas(64) float start[kStep];
  alignas(64) float weight[kStep];
  alignas(64) int32_t bad[kStep];
  alignas(64) int32_t dead[kStep];  // Qn_0 only: all codes are 0
  alignas(64) int32_t d[kStep];     // half floats
  alignas(64) int32_t m[kStep];
};

// Rounds scales to half floats and marks blocks whose scale or minimum is Inf or NaN.
HWY_INLINE void round_scales(SearchResults& found) {
  for (size_t i = 0; i < kStep; i += kLanes) {
    const Float scale = hn::Load(kF, found.scale + i);
    const Float low = hn::Neg(hn::Load(kF, found.minimum + i));
    const Int worst = hn::Max(magnitude_bits(scale), magnitude_bits(low));
    const Int infinite = hn::VecFromMask(kI, hn::Gt(worst, splat_int(kInfBits - 1)));
    hn::Store(hn::Or(hn::Load(kI, found.bad + i), infinite), kI, found.bad + i);
    hn::Store(f16_bits_from_float(scale), kI, found.d + i);
    hn::Store(f16_bits_from_float(low), kI, found.m + i);
  }
}

template <class Block>
HWY_INLINE void search_signed(const RowStrip& strip, size_t first, SearchResults& found) {
  SignedGroup<kValues> group;
  for (size_t i = 0; i < kStep; i += kLanes) {
    load_blocks(strip, first + i, group.x, group.w);
    const SignedLanes lanes = fit_signed_lanes(group, kFiveBits<Block> ? 16 : 8);
    hn::Store(lanes.scale, kF, found.scale + i);
    hn::Store(hn::Zero(kF), kF, found.minimum + i);
    hn::Store(lanes.inverse, kF, found.inverse + i);
    hn::Store(flags(lanes.dead), kI, found.dead + i);
    hn::Store(flags(lanes.bad), kI, found.bad + i);
  }
}

template <class Block>
HWY_INLINE void search_affine(const RowStrip& strip, size_t first, SearchResults& found) {
  constexpr AffineSearch kSearch{kFiveBits<Block> ? 31 : 15, -0.9f, 0.05f, 36};
  const Numerators numerators = make_numerators(kSearch);
  AffineGroup<kValues> groups[kGroups];
  for (size_t i = 0; i < kGroups; ++i) {
    load_blocks(strip, first + i * kLanes, groups[i].x, groups[i].w);
  }
  fit_affine_lanes<false>(
      groups, numerators, 0,
      {found.scale, found.minimum, found.inverse, found.start, found.weight, found.bad});
}

template <class Block>
HWY_INLINE Int codes_at(const float* values, const SearchResults& found, size_t b) {
  const Float x = hn::LoadU(kF, values);
  const Float inverse = splat(found.inverse[b]);
  if constexpr (kHasMinimum<Block>) {
    const Int code = round_to_int_lanes(hn::Mul(inverse, hn::Sub(x, splat(found.start[b]))));
    return clamp_int(code, 0, kFiveBits<Block> ? 31 : 15);
  } else {
    constexpr int32_t kMiddle = kFiveBits<Block> ? 16 : 8;
    const Int code = clamp_int(round_to_int_lanes(hn::Mul(inverse, x)), -kMiddle, kMiddle - 1);
    const Int dead = splat_int(found.dead[b]);
    return hn::AndNot(dead, hn::Add(code, splat_int(kMiddle)));
  }
}

// Returns in bit i the fifth bit of codes[i].
HWY_INLINE uint32_t fifth_bits(Int codes) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(kI, hn::Gt(codes, splat_int(15)), bytes);
  return static_cast<uint32_t>(bytes[0] | bytes[1] << 8);
}

template <class Block>
HWY_INLINE void finish_block(const float* values, const SearchResults& found, size_t b,
                             Block& out) {
  uint8_t* bytes = out.codes;
  uint32_t high_bits = 0;
  for (size_t i = 0; i < kValues / 2; i += kLanes) {
    const Int low = codes_at<Block>(values + i, found, b);
    const Int high = codes_at<Block>(values + i + kValues / 2, found, b);
    if constexpr (kFiveBits<Block>) {
      high_bits |= fifth_bits(low) << i | fifth_bits(high) << (i + kValues / 2);
    }
    const Int pair = hn::Or(hn::And(low, splat_int(15)), hn::ShiftLeft<4>(high));
    hn::StoreU(low_bytes(pair), ByteTag(), bytes + i);
  }
  out.d = static_cast<uint16_t>(found.d[b]);
  if constexpr (kHasMinimum<Block>) out.m = static_cast<uint16_t>(found.m[b]);
  if constexpr (kFiveBits<Block>) out.high_bits = high_bits;
}

template <class Block>
HWY_INLINE void encode_step(const RowStrip& strip, size_t first, Block* out, uint8_t* bad_rows) {
  SearchResults found;
  if constexpr (kHasMinimum<Block>) {
    search_affine<Block>(strip, first, found);
  } else {
    search_signed<Block>(strip, first, found);
  }
  round_scales(found);
  const size_t rest = strip.blocks - first;
  for (size_t b = 0; b < (rest < kStep ? rest : kStep); ++b) {
    finish_block(strip.values + (first + b) * kValues, found, b, out[first + b]);
    if (HWY_UNLIKELY(found.bad[b] != 0)) bad_rows[(first + b) / (strip.row_values / kValues)] = 1;
  }
}

template <class Block>
HWY_INLINE void encode_rows(ConstFloatRows rows, std::span<const float> weights, Block* out,
                            EncodeWeightedRows<Block>* scalar) {
  const auto row_values = static_cast<size_t>(rows.row_values);
  const size_t row_blocks = row_values / kValues;
  const auto row_count = static_cast<size_t>(rows.rows());
  for (size_t row = 0; row < row_count; row += kLanes, out += kLanes * row_blocks) {
    const size_t count = row_count - row < kLanes ? row_count - row : kLanes;
    RowStrip strip{
        rows.values.data() + row * row_values, weights.data(), row_values, count * row_blocks, {}};
    uint8_t bad_rows[kLanes] = {};
    find_row_variances(count, strip);
    for (size_t b = 0; b < strip.blocks; b += kStep) encode_step(strip, b, out, bad_rows);
    for (size_t i = 0; i < count; ++i) {
      if (bad_rows[i] == 0) continue;
      scalar({{strip.values + i * row_values, row_values}, row_values}, weights,
             out + i * row_blocks);
    }
  }
}

}  // namespace

#define CKPT_WEIGHTED(name, Block)                                                        \
  void weighted_##name(ConstFloatRows rows, std::span<const float> weights, Block* out) { \
    encode_rows(rows, weights, out, encode_##name##_weighted_scalar);                     \
  }
CKPT_WEIGHTED_BLOCKS(CKPT_WEIGHTED)
#undef CKPT_WEIGHTED

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

#define CKPT_WEIGHTED(name, Block) \
  CKPT_SIMD_WEIGHTED_ENCODER(encode_##name##_weighted, weighted_##name, Block)
CKPT_WEIGHTED_BLOCKS(CKPT_WEIGHTED)
#undef CKPT_WEIGHTED

}  // namespace ckpt
#endif  // HWY_ONCE
