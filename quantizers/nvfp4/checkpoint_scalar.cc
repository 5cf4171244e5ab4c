// The specification of the kernels in checkpoint.h, one number at a time.
//
// Note: comparisons are written so that NaN passes all bounds.
#include <bit>
#include <cmath>
#include <initializer_list>

#include "core/model/float_convert.h"
#include "quantizers/nvfp4/checkpoint.h"

namespace ckpt {
namespace {

constexpr float kE2m1[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

// Returns the number of bounds between codes that the magnitude passes; ties go to the even code.
uint32_t e2m1_from_float(float value) {
  const float magnitude = std::fabs(value);
  uint32_t code = 0;
  for (const float bound : {0.25f, 1.25f, 2.5f, 5.0f}) code += !(magnitude <= bound);
  for (const float bound : {0.75f, 1.75f, 3.5f}) code += !(magnitude < bound);
  return value < 0 ? code | 8 : code;
}

}  // namespace

float nearest_e2m1_scalar(float magnitude) { return kE2m1[e2m1_from_float(magnitude) & 7]; }

void find_block_amax_scalar(const float* values, uint64_t blocks, float* amax) {
  for (uint64_t b = 0; b < blocks; ++b, values += kE2m1BlockValues) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < kE2m1BlockValues; ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(values[i]) & 0x7FFFFFFFu;
      largest = largest < bits ? bits : largest;
    }
    amax[b] = std::bit_cast<float>(largest);
  }
}

void pack_e2m1_scalar(const float* values, uint64_t blocks, const float* divisors,
                      std::byte* codes) {
  for (uint64_t b = 0; b < blocks; ++b, values += kE2m1BlockValues) {
    for (uint32_t i = 0; i < kE2m1BlockValues; i += 2) {
      const uint32_t low = e2m1_from_float(values[i] / divisors[b]);
      *codes++ = static_cast<std::byte>(low | e2m1_from_float(values[i + 1] / divisors[b]) << 4);
    }
  }
}

void unpack_e2m1_scalar(const std::byte* codes, uint64_t blocks, const float* scales,
                        float* values) {
  for (uint64_t b = 0; b < blocks; ++b) {
    for (uint32_t i = 0; i < kE2m1BlockBytes; ++i) {
      const auto pair = static_cast<uint32_t>(*codes++);
      *values++ = kE2m1[pair & 15] * scales[b];
      *values++ = kE2m1[pair >> 4] * scales[b];
    }
  }
}

void make_nvfp4_scales_scalar(const float* amax, uint64_t blocks, float tensor_scale,
                              std::byte* scales, float* divisors) {
  for (uint64_t b = 0; b < blocks; ++b) {
    float scale = amax[b] / (6.0f * tensor_scale);
    if (scale == 0) scale = 1;
    if (scale < 0x1p-9f) scale = 0x1p-9f;
    const uint8_t code = e4m3_from_float(scale);
    scales[b] = static_cast<std::byte>(code);
    divisors[b] = float_from_e4m3(code) * tensor_scale;
  }
}

void find_e2m1_errors_scalar(const E2m1Block& block, const float* divisors, uint64_t count,
                             float* errors) {
  for (uint64_t c = 0; c < count; ++c) {
    float parts[kE2m1BlockValues];
    for (uint32_t i = 0; i < kE2m1BlockValues; ++i) {
      const float value = block.values[i];
      const float nearest = kE2m1[e2m1_from_float(value / divisors[c]) & 7] * divisors[c];
      const float error = std::fabs(value) - nearest;
      parts[i] = block.weights[i] * (error * error);
    }
    for (uint32_t apart = kE2m1BlockValues / 2; apart > 0; apart /= 2) {
      for (uint32_t i = 0; i < apart; ++i) parts[i] = parts[i] + parts[i + apart];
    }
    errors[c] = parts[0];
  }
}

}  // namespace ckpt
