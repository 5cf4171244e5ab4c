// The kernel that encodes Q3_K without weights.
//
// A batch is kLanes blocks (simd/batch.h). The kernel runs fit_signed_stepwise of scale_search.h
// with one sub-block per lane:
//
//   l = round(-4 / x0 x);  P = sum (w x) l;  Q = sum (w l) l;  w = x^2
//   five times, for each x:  p = P - (w x) l;  q = Q - (w l) l;  n = clamp(round(x q / p), -4, 3)
//     if p > 0, n != l, and with n (p' ^2) Q > (P^2) q':  l = n, P = p', Q = q'
//
// P and Q stay as they are until some l changes, so the tests of all x are independent until then.
// Each group is therefore tested for changes first; four in five sub-blocks need none and are done.
// The others of a batch are collected into full groups, which run step by step. Four groups run at
// a time, because each step waits for the division of the step before.
//
// Note: a lane without changes in one sweep stays unchanged in later ones, so a group runs until
// none of its lanes changes. x q / p may be huge: the rounding is ggml's full one.
#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_quants.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/k/q3_k_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/ggml/k/signed_pack.h"
#include "quantizers/ggml/signed.h"
#include "quantizers/simd/batch.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kTogether = 4;  // groups that run together
constexpr size_t kStepSubs = kTogether * kLanes;
constexpr size_t kGroupFloats = kSignedSub * kLanes;
constexpr size_t kBatchSubs = kSignedSubs * kLanes;

// Stores vector e at [e kLanes].
struct StepGroup {
  alignas(64) float x[kGroupFloats];
  alignas(64) float w[kGroupFloats];
  alignas(64) float wx[kGroupFloats];
};

// The state of a batch's runs, by sub-block.
struct Runs {
  alignas(64) float first_levels[kSignedSubs * kGroupFloats];
  alignas(64) float last_levels[kSignedSubs * kGroupFloats];  // for runs that changed
  alignas(64) int32_t changes[kBatchSubs];
  const float* levels[kBatchSubs];  // from the search, kLanes apart
};

struct StepLanes {
  Float wxl, wll;
  Mask changed;
};

HWY_INLINE Mask no_lane() { return hn::Lt(hn::Zero(kF), hn::Zero(kF)); }

// Computes the first levels (0 in dead lanes) and their sums. Requires: g.x is set.
HWY_INLINE SignedLanes start_group(StepGroup& g, float* levels, StepLanes& lanes) {
  SignedLanes found;
  find_extremes<kSignedSub>(g.x, found);
  const Float top = splat(4.0f);
  const Float inverse = hn::Div(hn::Neg(top), found.extreme);
  lanes.wxl = lanes.wll = hn::Zero(kF);
  HWY_UNROLL(2)
  for (size_t e = 0; e < kGroupFloats; e += kLanes) {
    const Float x = hn::Load(kF, g.x + e);
    const Float w = hn::Mul(x, x);
    const Float wx = hn::Mul(w, x);
    const Float level = hn::IfThenZeroElse(found.dead, signed_level<true>(x, inverse, top));
    lanes.wxl = hn::Add(lanes.wxl, hn::Mul(wx, level));
    lanes.wll = hn::Add(lanes.wll, hn::Mul(hn::Mul(w, level), level));
    hn::Store(w, kF, g.w + e);
    hn::Store(wx, kF, g.wx + e);
    hn::Store(level, kF, levels + e);
  }
  return found;
}

// Another level for one value of each lane, and the resulting sums.
struct Step {
  Float level, wxl, wll;
  Mask better;
};

// If all levels are 0, nothing is better, since the sums are 0.
HWY_INLINE Step try_level(const StepGroup& g, size_t e, Float old_level, const StepLanes& lanes) {
  const Float zero = hn::Zero(kF);
  const Float x = hn::Load(kF, g.x + e);
  const Float w = hn::Load(kF, g.w + e);
  const Float wx = hn::Load(kF, g.wx + e);
  const Float less_wxl = hn::Sub(lanes.wxl, hn::Mul(wx, old_level));
  const Float less_wll = hn::Sub(lanes.wll, hn::Mul(hn::Mul(w, old_level), old_level));
  const Int code = round_to_int_lanes(hn::Div(hn::Mul(x, less_wll), less_wxl));
  Step out;
  out.level = hn::ConvertTo(kF, clamp_int(code, -4, 3));
  out.wxl = hn::Add(less_wxl, hn::Mul(wx, out.level));
  out.wll = hn::Add(less_wll, hn::Mul(hn::Mul(w, out.level), out.level));
  const Mask gain = hn::Gt(hn::Mul(hn::Mul(out.wxl, out.wxl), lanes.wll),
                           hn::Mul(hn::Mul(lanes.wxl, lanes.wxl), out.wll));
  const Mask allowed = hn::And(hn::Gt(less_wxl, zero), hn::Gt(out.wll, zero));
  out.better = hn::And(hn::And(allowed, hn::Ne(out.level, old_level)), gain);
  return out;
}

// Computes the first levels of kLanes sub-blocks from `first` on, and which of them would change.
HWY_INLINE void start_runs(const BlockBatch& batch, size_t first, Runs& runs,
                           SignedSearchResults& found) {
  StepGroup group;
  StepLanes lanes;
  const float* rows[kLanes];
  float* levels = runs.first_levels + first * kSignedSub;
  value_rows<kSignedSub>(batch, first, rows);
  transpose_rows(rows, kSignedSub, group.x);
  SignedLanes run = start_group(group, levels, lanes);
  Mask changes = no_lane();
  if (!hn::AllTrue(kF, run.dead)) {
    HWY_UNROLL(1)
    for (size_t e = 0; e < kGroupFloats; e += kLanes) {
      changes = hn::Or(changes, try_level(group, e, hn::Load(kF, levels + e), lanes).better);
    }
  }
  for (size_t i = 0; i < kLanes; ++i) runs.levels[first + i] = levels + i;
  hn::Store(flags(changes), kI, runs.changes + first);
  run.inverse = hn::Zero(kF);
  run.scale = hn::IfThenElseZero(hn::Gt(lanes.wll, hn::Zero(kF)), hn::Div(lanes.wxl, lanes.wll));
  store_found(run, first, found);
}

// Runs all sweeps of four groups, whose levels are stored one after the other.
HWY_INLINE void sweep_groups(const StepGroup* groups, float* levels, StepLanes* lanes) {
  bool changed = true;
  for (int sweep = 0; sweep < 5 && changed; ++sweep) {
    for (size_t g = 0; g < kTogether; ++g) lanes[g].changed = no_lane();
    HWY_UNROLL(1)
    for (size_t e = 0; e < kGroupFloats; e += kLanes) {
      HWY_UNROLL(4)
      for (size_t g = 0; g < kTogether; ++g) {
        float* at = levels + g * kGroupFloats + e;
        const Float old_level = hn::Load(kF, at);
        const Step step = try_level(groups[g], e, old_level, lanes[g]);
        lanes[g].wxl = hn::IfThenElse(step.better, step.wxl, lanes[g].wxl);
        lanes[g].wll = hn::IfThenElse(step.better, step.wll, lanes[g].wll);
        lanes[g].changed = hn::Or(lanes[g].changed, step.better);
        hn::Store(hn::IfThenElse(step.better, step.level, old_level), kF, at);
      }
    }
    Mask any = lanes[0].changed;
    for (size_t g = 1; g < kTogether; ++g) any = hn::Or(any, lanes[g].changed);
    changed = !hn::AllFalse(kF, any);
  }
}

// Runs `count` sub-blocks, at most kStepSubs, from their start; unused lanes repeat the last one.
// `levels` needs room for kTogether groups.
HWY_INLINE void finish_runs(const BlockBatch& batch, std::span<const size_t> subs, float* levels,
                            Runs& runs, SignedSearchResults& found) {
  StepGroup groups[kTogether];
  StepLanes lanes[kTogether];
  alignas(64) float scales[kStepSubs];
  const float* rows[kStepSubs];
  for (size_t i = 0; i < kStepSubs; ++i) {
    rows[i] = batch.values + subs[i < subs.size() ? i : subs.size() - 1] * kSignedSub;
  }
  for (size_t g = 0; g < kTogether; ++g) {
    transpose_rows(rows + g * kLanes, kSignedSub, groups[g].x);
    start_group(groups[g], levels + g * kGroupFloats, lanes[g]);
  }
  sweep_groups(groups, levels, lanes);
  for (size_t g = 0; g < kTogether; ++g) {
    const Float scale = hn::Div(lanes[g].wxl, lanes[g].wll);
    hn::Store(hn::IfThenElseZero(hn::Gt(lanes[g].wll, hn::Zero(kF)), scale), kF,
              scales + g * kLanes);
  }
  for (size_t i = 0; i < subs.size(); ++i) {
    found.scale[subs[i]] = scales[i];
    runs.levels[subs[i]] = levels + i / kLanes * kGroupFloats + i % kLanes;
  }
}

HWY_INLINE void search_batch(const BlockBatch& batch, Runs& runs, SignedSearchResults& found) {
  const size_t subs = batch.blocks * kSignedSubs;
  for (size_t first = 0; first < subs; first += kLanes) start_runs(batch, first, runs, found);
  size_t pending[kBatchSubs];
  size_t count = 0;
  for (size_t sub = 0; sub < subs; ++sub) {
    pending[count] = sub;
    count += runs.changes[sub] != 0 ? 1 : 0;
  }
  for (size_t first = 0; first < count; first += kStepSubs) {
    const size_t rest = count - first;
    finish_runs(batch, {pending + first, rest < kStepSubs ? rest : kStepSubs},
                runs.last_levels + first * kSignedSub, runs, found);
  }
}

}  // namespace

void q3_k(const float* values, uint64_t blocks, BlockQ3K* out) {
  Runs runs;
  SignedSearchResults found;
  SignedLevels levels;
  found.levels = runs.levels;
  for (uint64_t done = 0; done < blocks; done += kLanes) {
    const BlockBatch batch = make_batch(values, done, blocks);
    search_batch(batch, runs, found);
    find_extreme_levels(batch, found, -32, levels);
    finish_batch(batch, found, levels, out + done, encode_q3_k_scalar);
  }
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_ENCODER(encode_q3_k, q3_k, BlockQ3K)

}  // namespace ckpt
#endif  // HWY_ONCE
