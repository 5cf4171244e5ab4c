// Chooses NVFP4 block scales by their error instead of by the largest magnitude.
//
// The largest values of E2M1 are far apart: 4 and 6. A block whose largest magnitude a maps to 6
// may have a lower error with a larger scale (a maps to 4) or a smaller one (a saturates at 6).
//
//   scale too small       a becomes 6 d: an error of at least w_a (a - 6 d)^2, growing downwards
//   scale of interest     from there up to
//   scale too large       d > 4 a: all values round to zero, with the same error from there on
//
// Note: no code in between is skipped, so the result is the best of all 126; the first bound is
// only used once the errors of the codes above it are known.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/model/float_convert.h"
#include "quantizers/nvfp4/checkpoint.h"

namespace ckpt {
namespace {

constexpr uint8_t kSmallest = 0x01, kLargest = 0x7E;  // 2^-9 and 448

// A code and its error.
struct Choice {
  uint8_t code;
  float error;
};

// Tries codes [first, last]; the smallest of equally good ones wins. Requires: first <= last.
Choice best_of(const E2m1Block& block, float tensor_scale, uint8_t first, uint8_t last) {
  std::array<float, kLargest + 1> divisors{}, errors;
  const uint64_t count = uint64_t{last} - first + 1;
  for (uint64_t i = 0; i < count; ++i) {
    divisors[i] = float_from_e4m3(static_cast<uint8_t>(first + i)) * tensor_scale;
  }
  find_e2m1_errors(block, divisors.data(), count, errors.data());
  const auto* const best = std::min_element(errors.data(), errors.data() + count);
  return {static_cast<uint8_t>(first + (best - errors.data())), *best};
}

// The smallest weight among the values of largest magnitude.
float weight_of_largest(const E2m1Block& block, float amax) {
  float weight = INFINITY;
  for (uint32_t i = 0; i < kE2m1BlockValues; ++i) {
    if (std::fabs(block.values[i]) == amax) weight = std::min(weight, block.weights[i]);
  }
  return weight;
}

}  // namespace

uint8_t best_nvfp4_scale(const E2m1Block& block, float tensor_scale, float amax) {
  const float scale = amax / (6.0f * tensor_scale);
  const auto code_of = [](float number) {
    return std::clamp(e4m3_from_float(number), kSmallest, kLargest);
  };
  const uint8_t low = code_of(scale * 0.5f);
  Choice best = best_of(block, tensor_scale, low, code_of(scale * 24.0f));
  const float weight = weight_of_largest(block, amax);
  for (uint8_t code = low; code-- > kSmallest;) {
    const float divisor = float_from_e4m3(code) * tensor_scale;
    const float missed = amax - 6.0f * divisor;
    // The factor exceeds all rounding errors of this bound.
    if (missed > 0 && weight * (missed * missed) * 0.999f > best.error) break;
    const Choice other = best_of(block, tensor_scale, code, code);
    if (other.error <= best.error) best = other;
  }
  return best.code;
}

}  // namespace ckpt
