// Encoding and decoding of ggml's types whose codes look values up in a table: IQ4_NL, IQ4_XS,
// MXFP4 and the 64-value NVFP4 block.
//
// Arguments as in block_quants.h and k_quants.h; MXFP4 and NVFP4 ignore weights, as ggml does.
// Note: ggml's NVFP4 block is not the NVFP4 of safetensors checkpoints:
// scales round half up, there is no scale of the whole tensor, and code j shares a byte with j+8.
// Source of truth: llama.cpp ggml/src/ggml-quants.c, ggml/src/ggml-common.h.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "core/model/codec.h"
#include "core/model/float_convert.h"
#include "quantizers/ggml/ggml_table_blocks.h"

namespace ckpt {

inline constexpr int8_t kIq4Table[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};
// E2M1 numbers times two; code 8 is -0, which decodes to 0.
inline constexpr int8_t kE2m1Doubled[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

void encode_iq4_nl_scalar(const float* values, uint64_t blocks, BlockIq4Nl* out);
void encode_iq4_xs_scalar(const float* values, uint64_t blocks, BlockIq4Xs* out);
void encode_mxfp4_scalar(const float* values, uint64_t blocks, BlockMxfp4* out);
void encode_nvfp4_block_scalar(const float* values, uint64_t blocks, BlockNvfp4* out);

void encode_iq4_nl_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                   BlockIq4Nl* out);
void encode_iq4_xs_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                   BlockIq4Xs* out);

void decode_iq4_nl_scalar(const BlockIq4Nl* in, uint64_t blocks, float* values);
void decode_iq4_xs_scalar(const BlockIq4Xs* in, uint64_t blocks, float* values);
void decode_mxfp4_scalar(const BlockMxfp4* in, uint64_t blocks, float* values);
void decode_nvfp4_block_scalar(const BlockNvfp4* in, uint64_t blocks, float* values);
// As decode_nvfp4_block, all values times the scale of the whole tensor.
void decode_nvfp4_scaled_scalar(const BlockNvfp4* in, uint64_t blocks, float tensor_scale,
                                float* values);

// ---- what the codecs call ---------------------------------------------------------------------
void encode_iq4_nl(const float* values, uint64_t blocks, BlockIq4Nl* out);
void encode_iq4_xs(const float* values, uint64_t blocks, BlockIq4Xs* out);
void encode_iq4_nl_weighted(ConstFloatRows rows, std::span<const float> weights, BlockIq4Nl* out);
void encode_iq4_xs_weighted(ConstFloatRows rows, std::span<const float> weights, BlockIq4Xs* out);
void decode_mxfp4(const BlockMxfp4* in, uint64_t blocks, float* values);
void decode_nvfp4_block(const BlockNvfp4* in, uint64_t blocks, float* values);
void decode_nvfp4_scaled(const BlockNvfp4* in, uint64_t blocks, float tensor_scale, float* values);

// Factor of the doubled numbers of a block: 2^(exponent - 128), and half the scale.
inline float mxfp4_scale(uint8_t exponent) {
  if (exponent < 2) return std::bit_cast<float>(0x00200000u << exponent);
  return std::bit_cast<float>((uint32_t{exponent} - 1) << 23);
}
inline float nvfp4_block_scale(uint8_t code, float tensor_scale) {
  return float_from_ue4m3(code) * tensor_scale * 0.5f;
}

}  // namespace ckpt
