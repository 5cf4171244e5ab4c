// The kernel of feedback.cc: a row in each lane.
//
// Columns are processed in blocks of 16. Within a block, each is corrected by all earlier errors
// just before it is rounded; then all columns after the block are corrected by its 16 errors
// together, first to last, so that each number receives its corrections in the scalar twin's order.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/nvfp4/checkpoint.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/nvfp4/feedback_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/e2m1.h"
#include "quantizers/simd/e4m3.h"
#include "quantizers/simd/lanes.h"
#include "quantizers/simd/rows.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr uint32_t kBlock = kE2m1BlockValues;

// Memory for kLanes rows of a run.
struct Lanes {
  explicit Lanes(uint32_t columns)
      : memory(uint64_t{columns} * kLanes + kLanes),
        scales(columns / kBlock * kLanes),
        values(memory.data()) {
    const auto place = reinterpret_cast<uintptr_t>(values) / sizeof(float) % kLanes;
    values += place == 0 ? 0 : kLanes - place;
  }
  std::vector<float> memory;
  std::vector<std::byte> scales;  // block by block, kLanes codes each
  float* values;                  // column by column, aligned
};

// Returns column `first` + i of the block, corrected by the errors of the `i` columns before it.
HWY_INLINE Float corrected(const float* values, const float* factors, uint64_t columns,
                           const Float* errors, uint32_t count) {
  Float value = hn::Load(kF, values);
  for (uint32_t p = 0; p < count; ++p, factors += columns) {
    value = hn::Sub(value, hn::Mul(errors[p], splat(*factors)));
  }
  return value;
}

// Rounds 16 columns from `first` on, and adds their costs one by one.
HWY_INLINE Float round_block(float* values, const FeedbackRun& run, uint32_t first, Float scale,
                             Float cost) {
  const uint64_t columns = run.columns;
  const float* const factors = run.factors + first * columns;  // rows of the block's columns
  Float errors[kBlock];
  for (uint32_t i = 0; i < kBlock; ++i) {
    float* const at = values + (first + i) * kLanes;
    const Float value = corrected(at, factors + first + i, columns, errors, i);
    const Float rounded = hn::CopySign(hn::Mul(nearest_e2m1(hn::Div(value, scale)), scale), value);
    errors[i] = hn::Sub(value, rounded);
    const Float weight = splat(factors[i * columns + first + i]);
    cost = hn::Add(cost, hn::Mul(weight, hn::Mul(errors[i], errors[i])));
    hn::Store(rounded, kF, at);
  }
  for (uint64_t k = first + kBlock; k < columns; ++k) {
    float* const at = values + k * kLanes;
    hn::Store(corrected(at, factors + k, columns, errors, kBlock), kF, at);
  }
  return cost;
}

HWY_INLINE Float error_of(const float* values, const float* weights, Float scale) {
  const Float inverse = hn::Div(splat(1.0f), scale);
  Float sum = hn::Zero(kF);
  for (uint32_t i = 0; i < kBlock; ++i) {
    const Float magnitude = hn::Abs(vector_at(values, i));
    const Float nearest = hn::Mul(nearest_e2m1(hn::Mul(magnitude, inverse)), scale);
    const Float error = hn::Sub(magnitude, nearest);
    sum = hn::Add(sum, hn::Mul(splat(weights[i]), hn::Mul(error, error)));
  }
  return sum;
}

HWY_INLINE Float block_magnitude(const float* values) {
  Int largest = hn::Zero(kI);
  for (uint32_t i = 0; i < kBlock; ++i) {
    largest = hn::Max(largest, magnitude_bits(vector_at(values, i)));
  }
  return float_of(largest);
}

// Searches the codes of the best scales for the remaining values of a block.
HWY_INLINE Int search_codes(const float* values, const float* weights, float tensor_scale) {
  const Int middle = nvfp4_scale_codes(block_magnitude(values), tensor_scale);
  Int best = middle;
  Float least = float_of(splat_int(kInfBits));
  for (int32_t i = 0; i < kScaleCodesTried; ++i) {
    const Int code = clamp_int(hn::Add(middle, splat_int(i - kScaleCodesBelow)), 1, 0x7E);
    const Float scale = hn::Mul(float_of_positive_e4m3(code), splat(tensor_scale));
    const Float error = error_of(values, weights, scale);
    const auto is_less = hn::Lt(error, least);
    least = hn::IfThenElse(is_less, error, least);
    best = hn::IfThenElse(hn::RebindMask(kI, is_less), code, best);
  }
  return best;
}

// Rounds all blocks; `codes_of` returns the codes of a block's scales for its values.
template <class CodesOf>
HWY_INLINE Float fit(Lanes& lanes, const FeedbackRun& run, const CodesOf& codes_of) {
  Float cost = hn::Zero(kF);
  for (uint32_t first = 0; first < run.columns; first += kBlock) {
    const Int codes = codes_of(first);
    store_low_bytes(codes,
                    reinterpret_cast<uint8_t*>(lanes.scales.data()) + first / kBlock * kLanes);
    const Float scale = hn::Mul(float_of_positive_e4m3(codes), splat(run.tensor_scale));
    cost = round_block(lanes.values, run, first, scale, cost);
  }
  return cost;
}

void keep(const RowsOfRun& rows, uint32_t columns, size_t lane, const Lanes* fitted,
          const Lanes& chosen) {
  float* const values = rows.values + lane * rows.row_values;
  for (uint32_t k = 0; fitted != nullptr && k < columns; ++k) {
    values[k] = fitted->values[k * kLanes + lane];
  }
  for (uint32_t b = 0; b < columns / kBlock; ++b) {
    rows.scales[lane * rows.row_blocks + b] = chosen.scales[b * kLanes + lane];
  }
}

}  // namespace

void fit_run(const RowsOfRun& all, const FeedbackRun& run) {
  Lanes fitted(run.columns), plain(run.columns);
  std::vector<float> amax(run.columns);  // kLanes for each block
  RowsOfRun rows = all;
  for (; rows.rows >= kLanes; rows.rows -= kLanes) {
    const float* starts[kLanes];
    for (size_t lane = 0; lane < kLanes; ++lane)
      starts[lane] = rows.values + lane * rows.row_values;
    transpose_rows(starts, run.columns, fitted.values);
    std::copy_n(fitted.values, run.columns * kLanes, plain.values);
    for (uint32_t first = 0; first < run.columns; first += kBlock) {
      hn::StoreU(block_magnitude(plain.values + first * kLanes), kF, amax.data() + first);
    }
    alignas(64) float costs[kLanes], plain_costs[kLanes];
    const auto plain_codes = [&](uint32_t first) HWY_ATTR {
      return nvfp4_scale_codes(hn::LoadU(kF, amax.data() + first), run.tensor_scale);
    };
    const auto best_codes = [&](uint32_t first) HWY_ATTR {
      return search_codes(fitted.values + first * kLanes, run.weights + first, run.tensor_scale);
    };
    hn::Store(fit(plain, run, plain_codes), kF, plain_costs);
    hn::Store(fit(fitted, run, best_codes), kF, costs);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const bool is_kept = costs[lane] <= plain_costs[lane] && std::isfinite(costs[lane]);
      keep(rows, run.columns, lane, is_kept ? &fitted : nullptr, is_kept ? fitted : plain);
    }
    rows.values += kLanes * rows.row_values;
    rows.scales += kLanes * rows.row_blocks;
  }
  fit_nvfp4_run_scalar(rows, run);
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_FUNCTION(void, fit_nvfp4_run, fit_run, (const RowsOfRun& rows, const FeedbackRun& run),
                   (rows, run))

}  // namespace ckpt
#endif  // HWY_ONCE
