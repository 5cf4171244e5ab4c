// Multiplies and divides runs of values by one scale, and finds their largest magnitude.
//
// A function NAME_scalar is the specification of NAME, which gives the same bits with vectors.
// Note: largest_finite ignores Inf and NaN, unlike find_block_amax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/model/codec.h"

namespace ckpt {

// The largest magnitude among the finite values; 0 if there are none.
float largest_finite(const float* values, uint64_t count);
float largest_finite_scalar(const float* values, uint64_t count);

// The largest magnitude of bfloat16 values as an integer: magnitudes order as integers do, and
// values from 0x7F80 on are Inf or NaN. Returns 0 for no values.
uint16_t largest_bf16(const std::byte* values, uint64_t count);
uint16_t largest_bf16_scalar(const std::byte* values, uint64_t count);

// Codec::scan and Codec::scan_bf16 for codecs whose scale follows from the largest magnitude.
void scan_amax(ConstFloatRows rows, Stats& stats);
bool scan_bf16_amax(std::span<const std::byte> values, Stats& stats);

// out[i] = values[i] / divisor, additionally rounded to bfloat16 if `to_bf16`.
struct Division {
  float divisor;
  bool to_bf16;
};
void divide_values(const float* values, uint64_t count, Division division, float* out);
void divide_values_scalar(const float* values, uint64_t count, Division division, float* out);

// values[i] = values[i] * factor
void multiply_values(float* values, uint64_t count, float factor);
void multiply_values_scalar(float* values, uint64_t count, float factor);

}  // namespace ckpt
