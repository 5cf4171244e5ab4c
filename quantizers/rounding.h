// The roundings of ggml's quantizers, including their results for numbers that do not fit.
//
// Note: round_to_int is not lrint. It uses the low bits of value + 1.5 * 2^23, which is
// nearest-even for |value| < 2^22 and otherwise another but deterministic number: Inf gives
// -4194304, NaN a number from its lower bits. Callers clamp afterwards.
// Source: llama.cpp ggml/src/ggml-quants.c `nearest_int`.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace ckpt {

inline int32_t round_to_int(float value) {
  const auto bits = std::bit_cast<uint32_t>(value + 12582912.0f);
  return static_cast<int32_t>(bits & 0x007FFFFFu) - 0x00400000;
}

inline int32_t round_and_clamp(float value, int32_t low, int32_t high) {
  return std::clamp(round_to_int(value), low, high);
}

// Rounds towards zero. Numbers that do not fit int32_t, and NaN, give INT32_MIN, as x86's
// conversion does; a plain cast would be undefined for them.
inline int32_t truncate_to_int(float value) {
  if (!(value >= -0x1p31f && value < 0x1p31f)) return INT32_MIN;
  return static_cast<int32_t>(value);
}

// Rounds half away from zero. Numbers that do not fit int32_t, and NaN, give INT32_MIN. Adding the
// largest number below one half keeps 0.49999997 from becoming 1.
inline int32_t round_half_away(float value) {
  return truncate_to_int(value + std::copysign(0x1.fffffep-2f, value));
}

}  // namespace ckpt
