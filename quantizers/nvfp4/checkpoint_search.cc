// NVFP4 block scales that are chosen by the error they leave, not by the largest magnitude.
//
// The values of E2M1 lie far apart at its end: 4 and 6. A block whose largest magnitude a goes to 6
// may do better with a larger scale (a goes to 4), or a smaller one (a saturates at 6).
//
//   scale too small       a is left at 6 d: error of at least w_a (a - 6 d)^2, growing downwards
//   scale of interest     from there on up to
//   scale too large       d > 4 a: all values round to zero, the error is the same from there on
//
// Note: no code in between is left out, so the result is the best of all
// 126; the first bound is only used once the errors of the codes above it are known.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/model/float_convert.h"
#include "quantizers/nvfp4/checkpoint.h"

namespace ckpt {
namespace {

constexpr uint8_t kSmallest = 0x01, kLargest = 0x7E;  // 2^-9 and 448

// A code and the error it leaves.
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

// The smallest weight of a value of the largest magnitude.
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
    // Less than the bound by more than all its roundings.
    if (missed > 0 && weight * (missed * missed) * 0.999f > best.error) break;
    const Choice other = best_of(block, tensor_scale, code, code);
    if (other.error <= best.error) best = other;
  }
  return best.code;
}

}  // namespace ckpt
