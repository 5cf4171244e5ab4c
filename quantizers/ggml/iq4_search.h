// The two loops of IQ4_NL and IQ4_XS that take the time: sums for all scales that are tried, and
// codes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ckpt {

inline constexpr size_t kIq4Values = 32;  // that share a scale
inline constexpr size_t kIq4Tries = 16;   // inverse scales that are tried for them

// For each inverse scale, over the values x with weights w, T being the number nearest to
// inverse * x: the sums of (w T) x and (w T) T, added up in the order of the values.
struct Iq4Sums {
  alignas(64) float wqx[kIq4Tries];
  alignas(64) float wqq[kIq4Tries];
};
void sum_iq4_scalar(const float* values, const float* weights, const float* inverses, Iq4Sums& out);
// The number of the table's entry that is nearest to inverse * value; kIq4Values of them.
void find_iq4_codes_scalar(const float* values, float inverse, uint8_t* codes);

// The same, with vectors.
void sum_iq4(const float* values, const float* weights, const float* inverses, Iq4Sums& out);
void find_iq4_codes(const float* values, float inverse, uint8_t* codes);

}  // namespace ckpt
