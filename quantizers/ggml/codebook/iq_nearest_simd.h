// Finds the near point with the lowest error; a lane is a point.
//
// The error of a value depends only on its level, so a vector holds it for all levels of a
// position, and each point looks up the errors of its levels. Errors are added in the order of the
// positions, as in the scalar twins, and the first of the smallest wins. Included once per target
// by *_simd.cc files only.
#if defined(CKPT_IQ_NEAREST_SIMD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_IQ_NEAREST_SIMD_H
#undef CKPT_IQ_NEAREST_SIMD_H
#else
#define CKPT_IQ_NEAREST_SIMD_H
#endif

#include <limits>

#include "quantizers/ggml/codebook/iq_grid.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

// `levels` holds the values of levels: eight numbers, or for two bits four numbers twice.
struct PointSearch {
  const float* levels;
  const float* values;
  const float* weights;
  float scale;
};

// The errors of one position for levels from `first` on, repeated to fill longer vectors.
HWY_INLINE Float errors_of(const PointSearch& search, size_t position, Float levels) {
  const Float difference =
      hn::Sub(hn::Mul(splat(search.scale), levels), splat(search.values[position]));
  return hn::Mul(hn::Mul(splat(search.weights[position]), difference), difference);
}

// Loads eight or sixteen numbers from `levels`, whose eight entries repeat.
HWY_INLINE Float load_levels(const float* levels) {
  if constexpr (kLanes == 16) {
    const hn::Rebind<float, hn::Half<FloatTag>> half;
    const auto eight = hn::LoadU(half, levels);
    return hn::Combine(kF, eight, eight);
  } else {
    return hn::LoadU(kF, levels);
  }
}

template <int kBits>
struct ErrorTable {
  static constexpr bool kTwo = kBits == 3 && kLanes == 4;  // tables of four entries
  static constexpr size_t kDims = kBits == 3 ? 4 : 8;
  Float low[kDims];
  Float high[kTwo ? kDims : 1];

  HWY_INLINE explicit ErrorTable(const PointSearch& search) {
    const Float levels = load_levels(search.levels);
    for (size_t i = 0; i < kDims; ++i) low[i] = errors_of(search, i, levels);
    if constexpr (kTwo) {
      const Float upper = load_levels(search.levels + 4);
      for (size_t i = 0; i < kDims; ++i) high[i] = errors_of(search, i, upper);
    }
  }

  // The errors of the levels in the lowest bits of `codes`. Longer vectors ignore the higher bits.
  HWY_INLINE Float at(size_t position, Int codes) const {
    if constexpr (kLanes >= 8) {
      return hn::TableLookupLanes(low[position], hn::IndicesFromVec(kF, codes));
    } else {
      const auto index = hn::IndicesFromVec(kF, hn::And(codes, splat_int(3)));
      const Float found = hn::TableLookupLanes(low[position], index);
      if constexpr (!kTwo) return found;
      const auto is_high = hn::TestBit(codes, splat_int(4));
      return hn::IfThenElse(hn::RebindMask(kF, is_high),
                            hn::TableLookupLanes(high[kTwo ? position : 0], index), found);
    }
  }

  // The sum of errors over all positions.
  HWY_INLINE Float sum(Int codes) const {
    Float out = at(0, codes);
    HWY_UNROLL(7)
    for (size_t i = 1; i < kDims; ++i) {
      codes = hn::ShiftRight<kBits>(codes);
      out = hn::Add(out, at(i, codes));
    }
    return out;
  }
};

// Returns the packed point; kBits is 2 or 3.
template <int kBits>
uint16_t nearest_lanes(const IqGrid& grid, uint32_t packed, const PointSearch& search) {
  const uint16_t* about = grid.points_about(packed);
  const size_t count = about[0];
  const ErrorTable<kBits> table(search);
  const hn::Rebind<uint16_t, IntTag> narrow;
  Float best = splat(std::numeric_limits<float>::max());
  Int best_at = hn::Zero(kI);
  Int at = hn::Iota(kI, 0);
  for (size_t j = 0; j < count; j += kLanes, at = hn::Add(at, splat_int(kLanes))) {
    const Float error = table.sum(hn::PromoteTo(kI, hn::LoadU(narrow, about + 1 + j)));
    const Mask is_point = hn::RebindMask(kF, hn::Lt(at, splat_int(static_cast<int32_t>(count))));
    const Mask is_better = hn::And(hn::Lt(error, best), is_point);
    best = hn::IfThenElse(is_better, error, best);
    best_at = hn::IfThenElse(hn::RebindMask(kI, is_better), at, best_at);
  }
  const Mask is_least = hn::Eq(best, hn::MinOfLanes(kF, best));
  if (HWY_LIKELY(hn::CountTrue(kF, is_least) == 1)) {
    alignas(64) int32_t places[kLanes];
    hn::Store(best_at, kI, places);
    return about[1 + places[hn::FindKnownFirstTrue(kF, is_least)]];
  }
  const Int candidates =
      hn::IfThenElse(hn::RebindMask(kI, is_least), best_at, splat_int(0x7FFFFFFF));
  return about[1 + hn::GetLane(hn::MinOfLanes(kI, candidates))];
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_IQ_NEAREST_SIMD_H
