// Kernels that encode Q6_K and Q3_K by column weights.
//
// A batch is kLanes blocks (simd/batch.h):
//
//   weights -> search of each sub-block (ggml/signed.h) -> levels of each block's scales, one block
//   a lane -> final codes in memory order -> packed bytes (k/signed_pack.h)
//
// Q6_K uses the given column weights and gives the scale of largest magnitude level -128. Q3_K also
// uses the variance of the block, and searches for levels as it does for codes.
//
// Note: a sub-block whose rounded scale is 0 keeps its search's codes, which are 0 if all values
// are. A block with Inf, NaN or such scales is encoded by the scalar twin.

#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_quants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/k/weighted_signed_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/ggml/k/signed_pack.h"
#include "quantizers/ggml/signed.h"
#include "quantizers/simd/batch.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
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

CKPT_SIMD_WEIGHTED_ENCODER(encode_q6_k_weighted, weighted_q6_k, BlockQ6K)
CKPT_SIMD_WEIGHTED_ENCODER(encode_q3_k_weighted, weighted_q3_k, BlockQ3K)

}  // namespace ckpt
#endif  // HWY_ONCE
