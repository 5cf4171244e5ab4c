// The kernel that encodes Q3_K without weights.
//
// A batch is kLanes blocks (simd_batch.h). Its 16 groups of sub-blocks are searched four at a time
// by fit_signed_stepwise of scale_search.h, one sub-block a lane:
//
//   l = round(-4 / x0 x);  P = sum (w x) l;  Q = sum (w l) l;  w = x^2
//   five times, for each x:  p = P - (w x) l;  q = Q - (w l) l;  n = clamp(round(x q / p), -4, 3)
//     if p > 0, n != l, and with n (p' ^2) Q > (P^2) q':  l = n, P = p', Q = q'
//
// Each step waits for the division of the one before; four groups fill the gaps of each other.
//
// What a reader would get wrong: a lane in which a sweep changed nothing stays as it is in later
// sweeps, so all go on until none changes. x q / p may be huge: the rounding is ggml's in full.
#include "quantizers/k_quants.h"
#include "quantizers/simd_dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/q3_k_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd_batch.h"
#include "quantizers/simd_signed.h"
#include "quantizers/simd_signed_pack.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kTogether = 4;   // groups
constexpr size_t kGroupFloats = kSignedSub * kLanes;

// Four groups: vector e of group g at [g][e kLanes].
struct StepGroups {
  alignas(64) float x[kTogether][kGroupFloats];
  alignas(64) float w[kTogether][kGroupFloats];
  alignas(64) float wx[kTogether][kGroupFloats];
};

struct StepLanes {
  Float wxl, wll;
  SignedLanes found;
};

// The first levels and their sums.
HWY_INLINE void start_group(StepGroups& groups, size_t g, float* levels, StepLanes& lanes) {
  find_extremes<kSignedSub>(groups.x[g], lanes.found);
  const Float top = splat(4.0f);
  const Float inverse = hn::Div(hn::Neg(top), lanes.found.extreme);
  lanes.wxl = lanes.wll = hn::Zero(kF);
  for (size_t e = 0; e < kGroupFloats; e += kLanes) {
    const Float x = hn::Load(kF, groups.x[g] + e);
    const Float w = hn::Mul(x, x);
    const Float wx = hn::Mul(w, x);
    const Float level = hn::IfThenZeroElse(lanes.found.dead, signed_level<true>(x, inverse, top));
    lanes.wxl = hn::Add(lanes.wxl, hn::Mul(wx, level));
    lanes.wll = hn::Add(lanes.wll, hn::Mul(hn::Mul(w, level), level));
    hn::Store(w, kF, groups.w[g] + e);
    hn::Store(wx, kF, groups.wx[g] + e);
    hn::Store(level, kF, levels + e);
  }
}

// Tries another level for one value of each lane; gives the lanes that changed.
HWY_INLINE Mask step_level(const StepGroups& groups, size_t g, size_t e, float* levels,
                           StepLanes& lanes) {
  const Float zero = hn::Zero(kF);
  const Float x = hn::Load(kF, groups.x[g] + e);
  const Float w = hn::Load(kF, groups.w[g] + e);
  const Float wx = hn::Load(kF, groups.wx[g] + e);
  const Float old_level = hn::Load(kF, levels + e);
  const Float less_wxl = hn::Sub(lanes.wxl, hn::Mul(wx, old_level));
  const Float less_wll = hn::Sub(lanes.wll, hn::Mul(hn::Mul(w, old_level), old_level));
  const Int code = round_to_int_lanes(hn::Div(hn::Mul(x, less_wll), less_wxl));
  const Float level = hn::ConvertTo(kF, clamp_int(code, -4, 3));
  const Float wxl = hn::Add(less_wxl, hn::Mul(wx, level));
  const Float wll = hn::Add(less_wll, hn::Mul(hn::Mul(w, level), level));
  const Mask better = hn::Gt(hn::Mul(hn::Mul(wxl, wxl), lanes.wll),
                             hn::Mul(hn::Mul(lanes.wxl, lanes.wxl), wll));
  const Mask allowed = hn::And(hn::Gt(less_wxl, zero), hn::Gt(wll, zero));
  const Mask changed = hn::AndNot(lanes.found.dead,
                                  hn::And(hn::And(allowed, hn::Ne(level, old_level)), better));
  lanes.wxl = hn::IfThenElse(changed, wxl, lanes.wxl);
  lanes.wll = hn::IfThenElse(changed, wll, lanes.wll);
  hn::Store(hn::IfThenElse(changed, level, old_level), kF, levels + e);
  return changed;
}

// The groups from sub-block `first` on; levels has room for them.
HWY_INLINE void search_groups(const BlockBatch& batch, size_t first, float* levels,
                              SignedFound& found) {
  StepGroups groups;
  StepLanes lanes[kTogether];
  Mask all_dead = hn::Eq(hn::Zero(kF), hn::Zero(kF));
  for (size_t g = 0; g < kTogether; ++g) {
    const float* rows[kLanes];
    value_rows<kSignedSub>(batch, first + g * kLanes, rows);
    transpose_rows(rows, kSignedSub, groups.x[g]);
    start_group(groups, g, levels + g * kGroupFloats, lanes[g]);
    all_dead = hn::And(all_dead, lanes[g].found.dead);
  }
  bool go_on = !hn::AllTrue(kF, all_dead);
  for (int sweep = 0; sweep < 5 && go_on; ++sweep) {
    Mask changed = hn::Lt(hn::Zero(kF), hn::Zero(kF));
    for (size_t e = 0; e < kGroupFloats; e += kLanes) {
      HWY_UNROLL(4)
      for (size_t g = 0; g < kTogether; ++g) {
        changed = hn::Or(changed, step_level(groups, g, e, levels + g * kGroupFloats, lanes[g]));
      }
    }
    go_on = !hn::AllFalse(kF, changed);
  }
  for (size_t g = 0; g < kTogether; ++g) {
    const Float scale = hn::Div(lanes[g].wxl, lanes[g].wll);
    lanes[g].found.scale = hn::IfThenElseZero(hn::Gt(lanes[g].wll, hn::Zero(kF)), scale);
    lanes[g].found.inverse = hn::Zero(kF);
    store_found(lanes[g].found, first + g * kLanes, found);
  }
}

}  // namespace

void q3_k(const float* values, uint64_t blocks, BlockQ3K* out) {
  alignas(64) float search_levels[kSignedSubs * kGroupFloats];
  SignedFound found;
  SignedLevels levels;
  found.levels = search_levels;
  for (uint64_t done = 0; done < blocks; done += kLanes) {
    const BlockBatch batch = make_batch(values, done, blocks);
    for (size_t first = 0; first < batch.blocks * kSignedSubs; first += kTogether * kLanes) {
      search_groups(batch, first, search_levels + first * kSignedSub, found);
    }
    find_extreme_levels(batch, found, -32, levels);
    for (size_t b = 0; b < batch.blocks; ++b) {
      const float* block_values = batch.values + b * kBlock;
      if (HWY_LIKELY(!is_bad(found, levels, b))) {
        finish_signed(block_values, b, found, levels, out[done + b]);
      } else {
        encode_q3_k_scalar(block_values, 1, out + done + b);
      }
    }
  }
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

constexpr SimdTable<decltype(encode_q3_k_scalar)> kEncodeQ3K =
    CKPT_SIMD_TABLE(encode_q3_k_scalar, q3_k);

void encode_q3_k(const float* values, uint64_t blocks, BlockQ3K* out) {
  simd_function(kEncodeQ3K)(values, blocks, out);
}

}  // namespace ckpt
#endif  // HWY_ONCE
