// MXFP4 and NVFP4 as ggml stores them: their blocks byte by byte, and the functions that encode and
// decode them. Both ignore weights, as ggml does.
//
// Notation as in k_layout.h. E is kE2m1Doubled: doubled numbers, so scales are halved. Note: ggml's
// NVFP4 block is not the NVFP4 of safetensors checkpoints: scales are rounded half up, there is no
// scale per tensor, and codes j and j+8 share a byte.
// Source of truth: llama.cpp ggml/src/ggml-quants.c, ggml/src/ggml-common.h, ggml/src/ggml-impl.h.
#pragma once

#include <bit>
#include <cstdint>

#include "core/model/codec.h"
#include "core/model/float_convert.h"
#include "quantizers/extreme_codes.h"

namespace ckpt {

// | e 1 | lo/hi j,j+16  16 |                                      value = E[q] 2^(e-128)
struct [[gnu::packed]] BlockMxfp4 {
  static constexpr uint32_t kValues = 32;
  uint8_t exponent;
  uint8_t codes[16];
};

// Sub-blocks s of 16, scale in UE4M3 (0x00 and 0x7F are 0).       value = E[q] (scale / 2)
// | scales 4 | codes 32 |     codes[8s+j] lo/hi = values 16s+j, 16s+8+j
struct [[gnu::packed]] BlockNvfp4 {
  static constexpr uint32_t kValues = 64;
  uint8_t scales[4];
  uint8_t codes[32];
};

// E2M1 numbers times two; code 8 is -0, which decodes to 0.
inline constexpr int8_t kE2m1Doubled[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

inline uint64_t count_extreme_codes(const BlockMxfp4& b) { return count_nibbles_of_six(b.codes); }
inline uint64_t count_extreme_codes(const BlockNvfp4& b) { return count_nibbles_of_six(b.codes); }

void encode_mxfp4_scalar(const float* values, uint64_t blocks, BlockMxfp4* out);
void encode_nvfp4_block_scalar(const float* values, uint64_t blocks, BlockNvfp4* out);
void decode_mxfp4_scalar(const BlockMxfp4* in, uint64_t blocks, float* values);
void decode_nvfp4_block_scalar(const BlockNvfp4* in, uint64_t blocks, float* values);
// Does the same as decode_nvfp4_block, multiplied by the scale of the entire tensor.
void decode_nvfp4_scaled_scalar(const BlockNvfp4* in, uint64_t blocks, float tensor_scale,
                                float* values);

// ---- what the codecs call ---------------------------------------------------------------------
void decode_mxfp4(const BlockMxfp4* in, uint64_t blocks, float* values);
void decode_nvfp4_block(const BlockNvfp4* in, uint64_t blocks, float* values);
void decode_nvfp4_scaled(const BlockNvfp4* in, uint64_t blocks, float tensor_scale, float* values);

// Parts that can be repacked into the blocks: from nvfp4_modelopt and nvfp4_ct (repack.cc), and
// from MXFP4 in safetensors (../mx/mxfp4_repack.cc).
extern const Repack kNvfp4Repacks[2], kMxfp4Repacks[1];

// The factor for a block's doubled numbers: 2^(exponent - 128), or half the scale.
inline float mxfp4_scale(uint8_t exponent) {
  if (exponent < 2) return std::bit_cast<float>(0x00200000u << exponent);
  return std::bit_cast<float>((uint32_t{exponent} - 1) << 23);
}
inline float nvfp4_block_scale(uint8_t code, float tensor_scale) {
  return float_from_ue4m3(code) * tensor_scale * 0.5f;
}

}  // namespace ckpt
