// Runs of values multiplied and divided by one scale, and their largest magnitude.
//
// A function NAME_scalar is the specification of NAME, which gives the same bits with vectors.
// Note: largest_finite leaves Inf and NaN out, unlike find_block_amax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/model/codec.h"

namespace ckpt {

// The largest magnitude among the finite values; 0 without any.
float largest_finite(const float* values, uint64_t count);
float largest_finite_scalar(const float* values, uint64_t count);

// The largest of plain bfloat16 values without their signs, as an integer: magnitudes order as
// integers do, and from 0x7F80 on it is Inf or NaN. 0 without any.
uint16_t largest_bf16(const std::byte* values, uint64_t count);
uint16_t largest_bf16_scalar(const std::byte* values, uint64_t count);

// Codec::scan and Codec::scan_bf16 of codecs whose scale follows from the largest magnitude.
void scan_amax(ConstFloatRows rows, Stats& stats);
bool scan_bf16_amax(std::span<const std::byte> values, Stats& stats);

// out[i] = values[i] / divisor, rounded to a bfloat16 once more when `to_bf16`.
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
