// Conversions between floats and the 16- and 8-bit floating-point formats, for many numbers.
//
// Each function gives, bit for bit, the result of float_convert.h for every number; that header is
// the specification. Elements may be at odd addresses. Note: these functions do not detect numbers
// that leave the format; see float_convert.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ckpt {

void decode_bf16(const std::byte* in, uint64_t count, float* values);
// Also returns false if a magnitude, Inf and NaN included, is not below `end`, which is above zero.
bool decode_bf16_below(float end, const std::byte* in, uint64_t count, float* values);
void decode_f16(const std::byte* in, uint64_t count, float* values);
void decode_f8_e4m3(const std::byte* in, uint64_t count, float* values);
void decode_f8_e5m2(const std::byte* in, uint64_t count, float* values);

void encode_bf16(const float* values, uint64_t count, std::byte* out);
void encode_f16(const float* values, uint64_t count, std::byte* out);
void encode_f8_e4m3(const float* values, uint64_t count, std::byte* out);
void encode_f8_e5m2(const float* values, uint64_t count, std::byte* out);

}  // namespace ckpt
