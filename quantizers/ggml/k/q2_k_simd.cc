// The kernel that encodes Q2_K without weights.
//
// A batch is kLanes blocks (simd/batch.h):
//
//   search of each sub-block, two groups of lanes at a time, with w = |x| and the absolute error
//   (ggml/affine.h) -> levels 0..15 of each block's scales and minimums, one block a lane -> final
//   codes in memory order -> packed bytes
//
// Note: a negative scale or minimum would spill into the neighbor's four bits; the scalar twin
// handles such blocks, and those with Inf or NaN.
#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_quants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/k/q2_k_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/ggml/affine.h"
#include "quantizers/ggml/k/affine_pack.h"
#include "quantizers/simd/batch.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kSub = 16;
constexpr size_t kSubs = kBlock / kSub;

HWY_INLINE void search_batch(const BlockBatch& batch, const Numerators& numerators,
                             BatchSearchResults<kSubs>& found) {
  AffineGroup<kSub> groups[2];
  for (size_t first = 0; first < batch.blocks * kSubs; first += 2 * kLanes) {
    for (size_t i = 0; i < 2; ++i) {
      const float* rows[kLanes];
      value_rows<kSub>(batch, first + i * kLanes, rows);
      transpose_rows(rows, kSub, groups[i].x);
      for (size_t e = 0; e < kSub * kLanes; e += kLanes) {
        hn::Store(hn::Abs(hn::Load(kF, groups[i].x + e)), kF, groups[i].w + e);
      }
    }
    fit_affine_lanes<true>(groups, numerators, first, found.places());
  }
}

// Finds levels, of which the largest is 15.
HWY_INLINE void find_levels(const BlockBatch& batch, const float* found, BatchLevels<kSubs>& out) {
  const float* rows[kLanes];
  found_rows<kSubs>(batch, found, rows);
  transpose_rows(rows, kSubs, out.level);
  const Float zero = hn::Zero(kF);
  Float largest = zero;
  Mask bad = hn::Lt(zero, zero);
  for (size_t e = 0; e < kSubs * kLanes; e += kLanes) {
    const Float value = hn::Load(kF, out.level + e);
    bad = hn::Or(bad, hn::Not(hn::Ge(value, zero)));
    largest = hn::IfThenElse(hn::Gt(value, largest), value, largest);
  }
  const Mask empty = hn::Eq(largest, zero);
  const Float inverse = hn::IfThenZeroElse(empty, hn::Div(splat(15.0f), largest));
  const Float step = hn::Div(largest, splat(15.0f));
  const Int worst = hn::Max(magnitude_bits(inverse), magnitude_bits(step));
  bad = hn::Or(bad, hn::RebindMask(kF, hn::Gt(worst, splat_int(kInfBits - 1))));
  for (size_t e = 0; e < kSubs * kLanes; e += kLanes) {
    hn::Store(hn::Round(hn::Mul(inverse, hn::Load(kF, out.level + e))), kF, out.level + e);
  }
  store_batch_scale(step, bad, out);
}

}  // namespace

void q2_k(const float* values, uint64_t blocks, BlockQ2K* out) {
  const Numerators numerators = make_numerators({3, -0.5f, 0.1f, 15, true});
  BatchSearchResults<kSubs> found;
  BatchLevels<kSubs> levels[2];
  for (uint64_t done = 0; done < blocks; done += kLanes) {
    const BlockBatch batch = make_batch(values, done, blocks);
    search_batch(batch, numerators, found);
    find_levels(batch, found.scale, levels[0]);
    find_levels(batch, found.minimum, levels[1]);
    finish_batch(batch, found, levels, out + done, encode_q2_k_scalar);
  }
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_ENCODER(encode_q2_k, q2_k, BlockQ2K)

}  // namespace ckpt
#endif  // HWY_ONCE
