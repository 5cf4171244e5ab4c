// The kernel of k_feedback_run.h: a row in each lane.
//
// Columns are processed in blocks of kBlock. Within a block, each is corrected by all earlier
// errors just before it is rounded; then all columns after the block are corrected by its errors
// together, first to last, so that each value receives its corrections in the scalar twin's order.
// The existing numbers and the new ones alternate, so that divisions overlap.
#include <algorithm>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_feedback_run.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantizers/ggml/k/k_feedback_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "quantizers/simd/lanes.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr uint32_t kBlock = 8;

// Remainders of the values of kLanes rows, for the existing numbers and for the new ones.
struct Attempts {
  explicit Attempts(uint32_t columns)
      : given(uint64_t{columns} * kLanes), made(given.size()), numbers(given.size()) {}
  std::vector<float> given, made;
  std::vector<float> numbers;  // the new ones
  Float given_cost = hn::Zero(kF), made_cost = hn::Zero(kF);
};

// The errors of the first `count` columns of a block.
struct Errors {
  Float given[kBlock], made[kBlock];
  uint32_t count = 0;
};

struct Pair {
  Float given, made;
};

// Returns column `at`, corrected by errors whose factors begin at `factors`.
HWY_INLINE Pair corrected(const Attempts& attempts, uint64_t at, const float* factors,
                          const KRun& run, const Errors& errors) {
  Pair out{hn::LoadU(kF, attempts.given.data() + at * kLanes),
           hn::LoadU(kF, attempts.made.data() + at * kLanes)};
  for (uint32_t p = 0; p < errors.count; ++p, factors += run.columns) {
    const Float factor = splat(*factors);
    out.given = hn::Sub(out.given, hn::Mul(errors.given[p], factor));
    out.made = hn::Sub(out.made, hn::Mul(errors.made[p], factor));
  }
  return out;
}

// The nearest number, or `given` if the scale is 0, where all numbers represent the same value.
HWY_INLINE Float nearest_number(const KRun& run, Float value, Float scale, Float minimum,
                                Float given) {
  const Float exact = hn::Div(hn::Add(value, minimum), scale);
  const Float rounded = hn::Add(hn::Round(exact), hn::Zero(kF));  // -0 becomes +0
  const Float low = splat(run.low), high = splat(run.high);
  const Float limited = hn::IfThenElse(hn::Gt(exact, high), high, rounded);
  const Float number = hn::IfThenElse(hn::Gt(exact, low), limited, low);
  return hn::IfThenElse(hn::Eq(scale, hn::Zero(kF)), given, number);
}

// Rounds the block of columns from `first` on, for the rows from `lane` on.
HWY_INLINE void round_block(const KRun& run, const KRunRows& rows, size_t lane, uint32_t first,
                            Attempts& attempts) {
  Errors errors;
  const uint32_t count = std::min(kBlock, run.columns - first);
  const float* const factors = run.factors + uint64_t{first} * run.columns;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = first + i;
    const uint64_t sub = (run.before + at) / run.sub_values * kRunRows + lane;
    const Float scale = hn::LoadU(kF, rows.scales + sub);
    const Float minimum = hn::LoadU(kF, rows.minimums + sub);
    const Float weight = splat(factors[uint64_t{i} * run.columns + at]);
    const Float given = hn::LoadU(kF, rows.numbers + at * kRunRows + lane);
    errors.count = i;
    const Pair values = corrected(attempts, at, factors + at, run, errors);
    const Float made = nearest_number(run, values.made, scale, minimum, given);
    errors.given[i] = hn::Sub(values.given, hn::Sub(hn::Mul(scale, given), minimum));
    errors.made[i] = hn::Sub(values.made, hn::Sub(hn::Mul(scale, made), minimum));
    attempts.given_cost =
        hn::Add(attempts.given_cost, hn::Mul(weight, hn::Mul(errors.given[i], errors.given[i])));
    attempts.made_cost =
        hn::Add(attempts.made_cost, hn::Mul(weight, hn::Mul(errors.made[i], errors.made[i])));
    hn::StoreU(made, kF, attempts.numbers.data() + at * kLanes);
  }
  if (count < kBlock) return;  // the last columns
  errors.count = kBlock;
  for (uint64_t k = first + kBlock; k < run.columns; ++k) {
    const Pair values = corrected(attempts, k, factors + k, run, errors);
    hn::StoreU(values.given, kF, attempts.given.data() + k * kLanes);
    hn::StoreU(values.made, kF, attempts.made.data() + k * kLanes);
  }
}

void round_lanes(const KRun& run, const KRunRows& rows, size_t lane) {
  Attempts attempts(run.columns);
  for (uint64_t i = 0; i < run.columns; ++i) {
    const Float value = hn::LoadU(kF, rows.values + i * kRunRows + lane);
    hn::StoreU(value, kF, attempts.given.data() + i * kLanes);
    hn::StoreU(value, kF, attempts.made.data() + i * kLanes);
  }
  for (uint32_t first = 0; first < run.columns; first += kBlock) {
    round_block(run, rows, lane, first, attempts);
  }
  const Mask is_less = hn::Lt(attempts.made_cost, attempts.given_cost);
  for (uint64_t i = 0; i < run.columns; ++i) {
    float* const numbers = rows.numbers + i * kRunRows + lane;
    const Float made = hn::LoadU(kF, attempts.numbers.data() + i * kLanes);
    hn::StoreU(hn::IfThenElse(is_less, made, hn::LoadU(kF, numbers)), kF, numbers);
  }
}

}  // namespace

void round_run(const KRun& run, const KRunRows& rows) {
  for (size_t lane = 0; lane < kRunRows; lane += kLanes) round_lanes(run, rows, lane);
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {

CKPT_SIMD_FUNCTION(void, round_k_run, round_run, (const KRun& run, const KRunRows& rows),
                   (run, rows))

}  // namespace ckpt
#endif  // HWY_ONCE
