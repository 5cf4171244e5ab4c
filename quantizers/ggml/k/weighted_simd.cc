// Kernels that encode K-quants by column weights: first types with minimums, then Q6_K and Q3_K.
//
// Types with minimums: a batch is kLanes blocks (simd/batch.h):
//
//   variance of each block -> weights -> search of each sub-block, two groups of lanes at a time
//   (ggml/affine.h) -> levels of each block's scales and minimums, one block a lane
//   (below) -> final codes in memory order -> packed bytes
//
// A block with a bad sub-block or level is encoded by the scalar twin. Note: a sub-block whose
// rounded scale is 0 keeps its search's codes.
//
// Q6_K and Q3_K: a batch is kLanes blocks, too:
//
//   weights -> search of each sub-block (ggml/signed.h) -> levels of each block's scales, one block
//   a lane -> final codes in memory order -> packed bytes (k/signed_pack.h)
//
// Q6_K uses the given column weights and gives the scale of largest magnitude level -128. Q3_K also
// uses the variance of the block, and searches for levels as it does for codes.
//
// Note: a sub-block whose scale is rounded to 0 keeps the codes that its search found; they are 0
// if all values are 0. A block with Inf, NaN or such a scale is encoded by the scalar twin.
#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_quants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/k/weighted_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/ggml/affine.h"
#include "quantizers/ggml/k/affine_pack.h"
#include "quantizers/ggml/k/signed_pack.h"
#include "quantizers/ggml/scale_search.h"
#include "quantizers/ggml/signed.h"
#include "quantizers/simd/batch.h"
#include "quantizers/simd/rows.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// Implements fit_positive of scale_search.h with one run of values per lane.
//
// A run is the scales or minimums of one block's sub-blocks; `top` is the largest level.
//
// Note: the sweeps run until no lane changes. A lane without a change stays unchanged in later
// sweeps, so more sweeps do not affect it. Lanes with a negative value, Inf or NaN, or that would
// store a negative level, are marked bad.

template <size_t kCount>
struct PositiveGroup {
  alignas(64) float x[kCount * kLanes];
  alignas(64) float w[kCount * kLanes];
  float* level;  // result: vector e holds level e of each run
};

struct PositiveFit {
  Float scale;
  Mask bad;
};

struct PositiveSums {
  Float wxl, wll;
};

// Requires: 0 <= value, and value is finite.
HWY_INLINE Float positive_level(Float inverse, Float value, Float top) {
  return limit_high(hn::Round(hn::Mul(inverse, value)), top);
}

template <size_t kCount>
HWY_INLINE Float positive_error(const PositiveGroup<kCount>& g, Float inverse, Float top) {
  const Float scale = hn::Div(splat(1.0f), inverse);
  Float error = hn::Zero(kF);
  for (size_t e = 0; e < kCount; ++e) {
    const Float x = vector_at(g.x, e);
    const Float difference = hn::Sub(x, hn::Mul(scale, positive_level(inverse, x, top)));
    const Float term = hn::Mul(hn::Mul(vector_at(g.w, e), difference), difference);
    error = hn::Add(error, term);
  }
  return error;
}

template <size_t kCount>
HWY_INLINE Float best_positive_inverse(const PositiveGroup<kCount>& g, Float largest, float top) {
  Float best_inverse = hn::Div(splat(top), largest);
  Float best_error = positive_error(g, best_inverse, splat(top));
  for (int k = -4; k <= 4; ++k) {
    if (k == 0) continue;
    const Float inverse = hn::Div(splat(0.1f * static_cast<float>(k) + top), largest);
    const Float error = positive_error(g, inverse, splat(top));
    const Mask better = hn::Lt(error, best_error);
    best_error = hn::IfThenElse(better, error, best_error);
    best_inverse = hn::IfThenElse(better, inverse, best_inverse);
  }
  return best_inverse;
}

// Tries another level for value e. Returns true if a lane changed.
template <size_t kCount>
HWY_INLINE bool improve_level(PositiveGroup<kCount>& g, size_t e, int32_t top, PositiveSums& sums,
                              PositiveFit& fit) {
  const Float zero = hn::Zero(kF);
  const Float x = vector_at(g.x, e);
  const Float w = vector_at(g.w, e);
  const Float wx = hn::Mul(w, x);
  const Float old_level = vector_at(g.level, e);
  PositiveSums next{hn::Sub(sums.wxl, hn::Mul(wx, old_level)),
                    hn::Sub(sums.wll, hn::Mul(hn::Mul(w, old_level), old_level))};
  const Mask possible = hn::And(hn::Gt(next.wxl, zero), hn::Gt(next.wll, zero));
  const Int code =
      hn::Min(round_to_int_lanes(hn::Div(hn::Mul(x, next.wll), next.wxl)), splat_int(top));
  const Float level = hn::ConvertTo(kF, code);
  next.wxl = hn::Add(next.wxl, hn::Mul(wx, level));
  next.wll = hn::Add(next.wll, hn::Mul(hn::Mul(w, level), level));
  const Float gain = hn::Mul(hn::Mul(next.wxl, next.wxl), sums.wll);
  const Float needed = hn::Mul(hn::Mul(sums.wxl, sums.wxl), next.wll);
  const Mask changed = hn::And(hn::And(possible, hn::Ne(level, old_level)),
                               hn::AndNot(fit.bad, hn::Gt(gain, needed)));
  fit.bad = hn::Or(fit.bad, hn::And(changed, hn::Lt(level, zero)));
  sums.wxl = hn::IfThenElse(changed, next.wxl, sums.wxl);
  sums.wll = hn::IfThenElse(changed, next.wll, sums.wll);
  hn::Store(hn::IfThenElse(changed, level, old_level), kF, g.level + e * kLanes);
  return !hn::AllFalse(kF, changed);
}

// Computes levels and scales. Requires: x and w are set.
template <size_t kCount>
HWY_INLINE PositiveFit fit_positive_lanes(PositiveGroup<kCount>& g, int32_t top) {
  const Float zero = hn::Zero(kF);
  Float largest = zero;
  Mask negative = hn::Lt(zero, zero);
  Int magnitude = splat_int(0);
  for (size_t e = 0; e < kCount; ++e) {
    const Float x = vector_at(g.x, e);
    largest = hn::IfThenElse(hn::Gt(largest, x), largest, x);
    negative = hn::Or(negative, hn::Lt(x, zero));
    magnitude = hn::Max(magnitude, magnitude_bits(x));
  }
  const Mask infinite = hn::RebindMask(kF, hn::Gt(magnitude, splat_int(kInfBits - 1)));
  const Mask dead = hn::Lt(largest, splat(kZeroMagnitude));
  PositiveFit fit{zero, hn::Or(dead, hn::Or(negative, infinite))};
  const Mask bad = hn::AndNot(dead, fit.bad);
  const Float steps = splat(static_cast<float>(top));
  const Float inverse = best_positive_inverse(g, largest, static_cast<float>(top));
  PositiveSums sums{zero, zero};
  for (size_t e = 0; e < kCount; ++e) {
    const Float x = vector_at(g.x, e);
    const Float w = vector_at(g.w, e);
    const Float level = hn::IfThenElse(fit.bad, zero, positive_level(inverse, x, steps));
    sums.wxl = hn::Add(sums.wxl, hn::Mul(hn::Mul(w, x), level));
    sums.wll = hn::Add(sums.wll, hn::Mul(hn::Mul(w, level), level));
    hn::Store(level, kF, g.level + e * kLanes);
  }
  bool changed = true;
  for (int sweep = 0; sweep < 5 && changed; ++sweep) {
    changed = false;
    for (size_t e = 0; e < kCount; ++e) changed |= improve_level(g, e, top, sums, fit);
  }
  const Float scale = hn::IfThenElse(hn::Gt(sums.wll, zero), hn::Div(sums.wxl, sums.wll), zero);
  fit.scale = hn::IfThenElse(dead, zero, scale);
  fit.bad = hn::Or(bad, hn::AndNot(dead, fit.bad));
  return fit;
}

template <class Block>
constexpr bool kHasSubsOf32 = Block::kSubValues == 32;

template <class Block>
HWY_INLINE void search_batch(const BlockBatch& batch,
                             BatchSearchResults<kBlock / Block::kSubValues>& found) {
  constexpr size_t kSub = Block::kSubValues;
  constexpr AffineSearch kSearch{Block::kTop, -0.9f, 0.05f, 36};
  const Numerators numerators = make_numerators(kSearch);
  alignas(64) float variance[kLanes];
  find_variances(batch, kHasSubsOf32<Block> ? 2 : 1, variance);
  const size_t subs = batch.blocks * (kBlock / kSub);
  AffineGroup<kSub> groups[2];
  for (size_t first = 0; first < subs; first += 2 * kLanes) {
    for (size_t i = 0; i < 2; ++i) {
      const float* rows[kLanes];
      value_rows<kSub>(batch, first + i * kLanes, rows);
      transpose_rows(rows, kSub, groups[i].x);
      weigh_lanes<kSub>(batch, variance, first + i * kLanes, groups[i].x, groups[i].w);
    }
    fit_affine_lanes<false>(groups, numerators, first, found.places());
  }
}

template <size_t kSubs>
HWY_INLINE void find_levels(const BlockBatch& batch, const float* values, const float* weights,
                            int32_t top, BatchLevels<kSubs>& out) {
  PositiveGroup<kSubs> group;
  group.level = out.level;
  const float* rows[kLanes];
  found_rows<kSubs>(batch, values, rows);
  transpose_rows(rows, kSubs, group.x);
  found_rows<kSubs>(batch, weights, rows);
  transpose_rows(rows, kSubs, group.w);
  const PositiveFit fit = fit_positive_lanes(group, top);
  const Mask infinite =
      hn::RebindMask(kF, hn::Gt(magnitude_bits(fit.scale), splat_int(kInfBits - 1)));
  store_batch_scale(fit.scale, hn::Or(infinite, fit.bad), out);
}

template <class Block>
HWY_INLINE void encode_batch(const BlockBatch& batch, Block* out,
                             EncodeWeightedRows<Block>* scalar) {
  constexpr size_t kSubs = kBlock / Block::kSubValues;
  constexpr int32_t kTopLevel = kHasSubsOf32<Block> ? 63 : 15;
  BatchSearchResults<kSubs> found;
  BatchLevels<kSubs> levels[2];
  search_batch<Block>(batch, found);
  find_levels<kSubs>(batch, found.scale, found.weight, kTopLevel, levels[0]);
  find_levels<kSubs>(batch, found.minimum, found.weight, kTopLevel, levels[1]);
  finish_batch(batch, found, levels, out, scalar);
}

template <class Block>
HWY_INLINE void encode_rows(ConstFloatRows rows, std::span<const float> weights, Block* out,
                            EncodeWeightedRows<Block>* scalar) {
  const uint64_t blocks = rows.values.size() / kBlock;
  for (uint64_t done = 0; done < blocks; done += kLanes) {
    encode_batch(make_batch(rows, weights, done), out + done, scalar);
  }
}

}  // namespace

#define CKPT_WEIGHTED(name, Block)                                                        \
  void weighted_##name(ConstFloatRows rows, std::span<const float> weights, Block* out) { \
    encode_rows(rows, weights, out, encode_##name##_weighted_scalar);                     \
  }
CKPT_WEIGHTED(q2_k, BlockQ2K)
CKPT_K_TYPES_OF_32(CKPT_WEIGHTED)
#undef CKPT_WEIGHTED

namespace {

// Returns the sum of each lane's weights, from the first value to the last.
HWY_INLINE Float sum_weights(const float* w) {
  Float sum = hn::Zero(kF);
  for (size_t e = 0; e < kSignedSub; ++e) sum = hn::Add(sum, hn::Load(kF, w + e * kLanes));
  return sum;
}

HWY_INLINE void search_q6_k(const BlockBatch& batch, SignedSearchResults& found) {
  SignedGroup<kSignedSub> group;
  for (size_t first = 0; first < batch.blocks * kSignedSubs; first += kLanes) {
    const float* rows[kLanes];
    value_rows<kSignedSub>(batch, first, rows);
    transpose_rows(rows, kSignedSub, group.x);
    weight_rows<kSignedSub>(batch, first, rows);
    transpose_rows(rows, kSignedSub, group.w);
    store_found(fit_signed_lanes(group, 32), first, found);
  }
}

HWY_INLINE void search_q3_k(const BlockBatch& batch, SignedSearchResults& found,
                            float* sub_weights) {
  SignedGroup<kSignedSub> group;
  alignas(64) float variance[kLanes];
  find_variances(batch, 2, variance);
  for (size_t first = 0; first < batch.blocks * kSignedSubs; first += kLanes) {
    const float* rows[kLanes];
    value_rows<kSignedSub>(batch, first, rows);
    transpose_rows(rows, kSignedSub, group.x);
    weigh_lanes<kSignedSub>(batch, variance, first, group.x, group.w);
    hn::Store(sum_weights(group.w), kF, sub_weights + first);
    store_found(fit_signed_lanes(group, 4), first, found);
  }
}

// Finds levels -32..31 of a batch's scales with the search for codes.
HWY_INLINE void find_q3_k_levels(const BlockBatch& batch, const SignedSearchResults& found,
                                 const float* sub_weights, SignedLevels& out) {
  SignedGroup<kSignedSubs> group;
  const float* rows[kLanes];
  found_rows<kSignedSubs>(batch, found.scale, rows);
  transpose_rows(rows, kSignedSubs, group.x);
  found_rows<kSignedSubs>(batch, sub_weights, rows);
  transpose_rows(rows, kSignedSubs, group.w);
  const SignedLanes fit = fit_signed_lanes(group, 32);
  for (size_t j = 0; j < kSignedSubs; ++j) {
    const Float scale = hn::Load(kF, group.x + j * kLanes);
    const Float level = signed_level<true>(scale, fit.inverse, splat(32.0f));
    hn::Store(hn::IfThenElse(fit.dead, splat(-32.0f), level), kF, out.level + j * kLanes);
  }
  store_block_scales(fit.scale, fit.bad, out);
}

}  // namespace

void weighted_q6_k(ConstFloatRows rows, std::span<const float> weights, BlockQ6K* out) {
  SignedSearchResults found;
  SignedLevels levels;
  for (uint64_t done = 0; done < rows.values.size() / kBlock; done += kLanes) {
    const BlockBatch batch = make_batch(rows, weights, done);
    search_q6_k(batch, found);
    find_extreme_levels(batch, found, -128, levels);
    finish_batch(batch, found, levels, out + done, encode_q6_k_weighted_scalar);
  }
}

void weighted_q3_k(ConstFloatRows rows, std::span<const float> weights, BlockQ3K* out) {
  SignedSearchResults found;
  SignedLevels levels;
  alignas(64) float sub_weights[kSignedSubs * kLanes];
  for (uint64_t done = 0; done < rows.values.size() / kBlock; done += kLanes) {
    const BlockBatch batch = make_batch(rows, weights, done);
    search_q3_k(batch, found, sub_weights);
    find_q3_k_levels(batch, found, sub_weights, levels);
    finish_batch(batch, found, levels, out + done, encode_q3_k_weighted_scalar);
  }
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

#define CKPT_WEIGHTED(name, Block) \
  CKPT_SIMD_WEIGHTED_ENCODER(encode_##name##_weighted, weighted_##name, Block)
CKPT_WEIGHTED(q2_k, BlockQ2K)
CKPT_K_TYPES_OF_32(CKPT_WEIGHTED)
#undef CKPT_WEIGHTED

CKPT_SIMD_WEIGHTED_ENCODER(encode_q6_k_weighted, weighted_q6_k, BlockQ6K)
CKPT_SIMD_WEIGHTED_ENCODER(encode_q3_k_weighted, weighted_q3_k, BlockQ3K)

}  // namespace ckpt
#endif  // HWY_ONCE
