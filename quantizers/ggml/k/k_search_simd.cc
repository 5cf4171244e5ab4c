// The sums of k_search.h with vectors, one sub-block per lane. They equal those of their twins.
//
// Four candidates are tried on a value together, so that their chains of additions overlap.
#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_search.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/k/k_search_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

struct Lane {
  Float scale, minimum, inverse;
};

HWY_INLINE Lane load_lane(const SearchFit& fit, size_t at) {
  const Float scale = hn::Load(kF, fit.scales + at);
  const Float inverse = hn::Div(splat(1.0f), scale);
  const Mask none = hn::Eq(scale, hn::Zero(kF));
  return {scale, hn::Load(kF, fit.minimums + at), hn::IfThenElse(none, hn::Zero(kF), inverse)};
}

struct Range {
  Float low, high;
};

HWY_INLINE Float code_of(Float value, const Lane& lane, const Range& range) {
  const Float exact = hn::Mul(hn::Add(value, lane.minimum), lane.inverse);
  const Float above = hn::IfThenElse(hn::Gt(exact, range.low), exact, range.low);
  const Float limited = hn::Min(above, range.high);
  return hn::Sub(hn::Add(limited, splat(12582912.0f)), splat(12582912.0f));
}

HWY_INLINE Float add_error(Float sum, Float value, Float weight, const Lane& lane,
                           const Range& range) {
  const Float stored = hn::Sub(hn::Mul(lane.scale, code_of(value, lane, range)), lane.minimum);
  const Float error = hn::Sub(stored, value);
  return hn::Add(sum, hn::Mul(weight, hn::Mul(error, error)));
}

template <size_t kFits>
HWY_INLINE void find_some(const SearchGroup& group, size_t at, const SearchFit* fits,
                          SearchErrors* errors) {
  const Range range{splat(group.low), splat(group.high)};
  Lane lanes[kFits];
  Float sums[kFits];
  HWY_UNROLL(4)
  for (size_t k = 0; k < kFits; ++k) {
    lanes[k] = load_lane(fits[k], at);
    sums[k] = hn::Zero(kF);
  }
  for (size_t e = 0; e < group.count; ++e) {
    const Float value = hn::Load(kF, group.values + e * kSearchSubs + at);
    const Float weight = hn::Load(kF, group.weights + e * kSearchSubs + at);
    HWY_UNROLL(4)
    for (size_t k = 0; k < kFits; ++k) {
      sums[k] = add_error(sums[k], value, weight, lanes[k], range);
    }
  }
  HWY_UNROLL(4)
  for (size_t k = 0; k < kFits; ++k) hn::Store(sums[k], kF, errors[k].errors + at);
}

void find_errors(const SearchGroup& group, std::span<const SearchFit> fits, SearchErrors* errors) {
  for (size_t at = 0; at < kSearchSubs; at += kLanes) {
    size_t k = 0;
    for (; k + 4 <= fits.size(); k += 4) find_some<4>(group, at, fits.data() + k, errors + k);
    for (; k < fits.size(); ++k) find_some<1>(group, at, fits.data() + k, errors + k);
  }
}

void find_sums(const SearchGroup& group, const SearchFit& fit, SearchSums& sums) {
  const Range range{splat(group.low), splat(group.high)};
  for (size_t at = 0; at < kSearchSubs; at += kLanes) {
    const Lane lane = load_lane(fit, at);
    Float codes = hn::Zero(kF), squares = codes, values = codes;
    for (size_t e = 0; e < group.count; ++e) {
      const Float value = hn::Load(kF, group.values + e * kSearchSubs + at);
      const Float weight = hn::Load(kF, group.weights + e * kSearchSubs + at);
      const Float code = code_of(value, lane, range);
      const Float product = hn::Mul(weight, code);
      codes = hn::Add(codes, product);
      squares = hn::Add(squares, hn::Mul(product, code));
      values = hn::Add(values, hn::Mul(product, value));
    }
    hn::Store(codes, kF, sums.codes + at);
    hn::Store(squares, kF, sums.squares + at);
    hn::Store(values, kF, sums.values + at);
  }
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_FUNCTION(void, find_search_errors, find_errors,
                   (const SearchGroup& group, std::span<const SearchFit> fits,
                    SearchErrors* errors),
                   (group, fits, errors))
CKPT_SIMD_FUNCTION(void, find_search_sums, find_sums,
                   (const SearchGroup& group, const SearchFit& fit, SearchSums& sums),
                   (group, fit, sums))

}  // namespace ckpt
#endif  // HWY_ONCE
