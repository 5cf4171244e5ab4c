// MXFP4 and NVFP4 as ggml stores them: E2M1 codes with a scale per 32 or 16 values. 4.25 and 4.5
// bits per value.
//
// Bytes: BlockMxfp4, BlockNvfp4. E are the E2M1 numbers doubled, so scales are halved:
//   MXFP4  value = E[q] 2^(e-128)      e = floor(log2 max|x|) - 2 + 127
//   NVFP4  value = E[q] (s / 2)        s = ue4m3(max|x| / 6)
// A value gets the code whose product with the scale is nearest, the first among equally near ones:
// ties go to the smaller magnitude, and code 8 (-0) is never used.
//
// Note: log2 is rounded to float before floor, so magnitudes just below a power of two get the
// exponent of that power; below 2^-125 the exponent byte wraps, and the block is useless; if all
// errors are equal, code 0 wins. Zero blocks are all zero bytes. Source of truth: llama.cpp
// ggml/src/ggml-quants.c
// (quantize_row_mxfp4_ref, quantize_row_nvfp4_ref).
#include "quantizers/nvfp4/fp4.h"

#include <cmath>

#include "core/model/float_convert.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/rounding.h"

namespace ckpt {
namespace {

uint8_t nearest_code(float value, float scale) {
  uint8_t best = 0;
  float best_error = std::fabs(static_cast<float>(kE2m1Doubled[0]) * scale - value);
  for (uint8_t code = 1; code < 16; ++code) {
    const float error = std::fabs(static_cast<float>(kE2m1Doubled[code]) * scale - value);
    if (error < best_error) {
      best = code;
      best_error = error;
    }
  }
  return best;
}

float find_largest(const float* values, uint32_t count) {
  float largest = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (largest < std::fabs(values[i])) largest = std::fabs(values[i]);
  }
  return largest;
}

// Packs `count` values into count / 2 bytes; values j and j + count / 2 share a byte.
void pack_codes(const float* values, uint32_t count, float scale, uint8_t* out) {
  for (uint32_t j = 0; j < count / 2; ++j) {
    const uint8_t low = nearest_code(values[j], scale);
    out[j] = static_cast<uint8_t>(low | nearest_code(values[j + count / 2], scale) << 4);
  }
}

void unpack_codes(const uint8_t* codes, uint32_t count, float scale, float* values) {
  for (uint32_t j = 0; j < count / 2; ++j) {
    values[j] = static_cast<float>(kE2m1Doubled[codes[j] & 15]) * scale;
    values[j + count / 2] = static_cast<float>(kE2m1Doubled[codes[j] >> 4]) * scale;
  }
}

// The double logarithm, rounded, gives the same exponent as log2f for every positive float, and
// mathematics libraries differ less in it.
uint8_t mxfp4_exponent(float largest) {
  if (!(largest > 0)) return 0;
  const auto logarithm = static_cast<float>(std::log2(static_cast<double>(largest)));
  return static_cast<uint8_t>(truncate_to_int(std::floor(logarithm) - 2 + 127));
}

}  // namespace

void encode_mxfp4_scalar(const float* values, uint64_t blocks, BlockMxfp4* out) {
  for (uint64_t b = 0; b < blocks; ++b, values += 32) {
    out[b].exponent = mxfp4_exponent(find_largest(values, 32));
    pack_codes(values, 32, mxfp4_scale(out[b].exponent), out[b].codes);
  }
}

void decode_mxfp4_scalar(const BlockMxfp4* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, values += 32) {
    unpack_codes(in[b].codes, 32, mxfp4_scale(in[b].exponent), values);
  }
}

void encode_nvfp4_block_scalar(const float* values, uint64_t blocks, BlockNvfp4* out) {
  for (uint64_t b = 0; b < blocks; ++b) {
    for (uint32_t s = 0; s < 4; ++s, values += 16) {
      const uint8_t scale = ue4m3_from_float(find_largest(values, 16) / 6.0f);
      out[b].scales[s] = scale;
      pack_codes(values, 16, float_from_ue4m3(scale) * 0.5f, out[b].codes + 8 * s);
    }
  }
}

void decode_nvfp4_scaled_scalar(const BlockNvfp4* in, uint64_t blocks, float tensor_scale,
                                float* values) {
  for (uint64_t b = 0; b < blocks; ++b) {
    for (uint32_t s = 0; s < 4; ++s, values += 16) {
      unpack_codes(in[b].codes + 8 * s, 16, nvfp4_block_scale(in[b].scales[s], tensor_scale),
                   values);
    }
  }
}

void decode_nvfp4_block_scalar(const BlockNvfp4* in, uint64_t blocks, float* values) {
  decode_nvfp4_scaled_scalar(in, blocks, 1, values);
}

constinit const Codec kMxfp4Codec =
    with_repacks(block_codec<Dtype::kMxfp4, BlockMxfp4, encode_mxfp4_scalar, nullptr, decode_mxfp4>(
                     "ggml block of E2M1 codes, 32 values a power of two; 4.25 bits a value"),
                 kMxfp4Repacks);
constinit const Codec kNvfp4BlockCodec = with_repacks(
    block_codec<Dtype::kNvfp4, BlockNvfp4, encode_nvfp4_block_scalar, nullptr, decode_nvfp4_block>(
        "ggml block of E2M1 codes, 16 values a UE4M3 scale; 4.5 bits a value"),
    kNvfp4Repacks);

}  // namespace ckpt
