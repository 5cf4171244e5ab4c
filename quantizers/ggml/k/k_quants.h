// Encoding and decoding of ggml's 256-value types: Q2_K, Q3_K, Q4_K, Q5_K, Q6_K.
//
// The functions ending in _scalar are the specification: plain loops whose every float operation
// is done in the order of ggml's reference, so that the bytes are equal to its bytes. The
// functions without the ending are what codecs call; they give the same bytes on any machine.
//
// `values` holds blocks x 256 floats, row-major. In the _weighted functions `weights` holds one
// weight a column (row_values of them); rows are whole blocks, and blocks are independent.
//
// Note: no sum may be reordered and no multiply-add fused; in Q2_K, Q4_K
// and Q5_K each accepted candidate of the search moves the minimum that later candidates start
// from. The weighted forms are other algorithms, not the plain ones with all weights 1.
// Source of truth: llama.cpp ggml/src/ggml-quants.c, function ggml_quantize_chunk.
#pragma once

#include <cstdint>
#include <span>

#include "core/model/codec.h"
#include "quantizers/ggml/k/k_layout.h"

namespace ckpt {

void encode_q2_k_scalar(const float* values, uint64_t blocks, BlockQ2K* out);
void encode_q3_k_scalar(const float* values, uint64_t blocks, BlockQ3K* out);
void encode_q4_k_scalar(const float* values, uint64_t blocks, BlockQ4K* out);
void encode_q5_k_scalar(const float* values, uint64_t blocks, BlockQ5K* out);
void encode_q6_k_scalar(const float* values, uint64_t blocks, BlockQ6K* out);

void encode_q2_k_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ2K* out);
void encode_q3_k_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ3K* out);
void encode_q4_k_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ4K* out);
void encode_q5_k_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ5K* out);
void encode_q6_k_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ6K* out);

void decode_q2_k_scalar(const BlockQ2K* in, uint64_t blocks, float* values);
void decode_q3_k_scalar(const BlockQ3K* in, uint64_t blocks, float* values);
void decode_q4_k_scalar(const BlockQ4K* in, uint64_t blocks, float* values);
void decode_q5_k_scalar(const BlockQ5K* in, uint64_t blocks, float* values);
void decode_q6_k_scalar(const BlockQ6K* in, uint64_t blocks, float* values);

// ---- what the codecs call ---------------------------------------------------------------------
void encode_q2_k(const float* values, uint64_t blocks, BlockQ2K* out);
void encode_q3_k(const float* values, uint64_t blocks, BlockQ3K* out);
void encode_q4_k(const float* values, uint64_t blocks, BlockQ4K* out);
void encode_q5_k(const float* values, uint64_t blocks, BlockQ5K* out);
void encode_q6_k(const float* values, uint64_t blocks, BlockQ6K* out);

void encode_q2_k_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ2K* out);
void encode_q3_k_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ3K* out);
void encode_q4_k_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ4K* out);
void encode_q5_k_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ5K* out);
void encode_q6_k_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ6K* out);

void decode_q2_k(const BlockQ2K* in, uint64_t blocks, float* values);
void decode_q3_k(const BlockQ3K* in, uint64_t blocks, float* values);
void decode_q4_k(const BlockQ4K* in, uint64_t blocks, float* values);
void decode_q5_k(const BlockQ5K* in, uint64_t blocks, float* values);
void decode_q6_k(const BlockQ6K* in, uint64_t blocks, float* values);

}  // namespace ckpt
