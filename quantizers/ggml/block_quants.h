// Encoding and decoding of ggml's 32-value types: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
//
// The functions ending in _scalar are the specification: plain loops whose every float operation
// is done in the order of ggml's reference, so that the bytes are equal to its bytes. The
// functions without the ending are what codecs call; they give the same bytes on any machine.
//
// `values` holds blocks x 32 floats, row-major. In the _weighted functions `weights` holds one
// weight a column (row_values of them) and rows are whole blocks; they use a statistic of the
// whole row, so a row cannot be cut. Q8_0 has no weighted form: ggml ignores weights there.
//
// Note: no sum may be reordered and no multiply-add fused. Values that
// are Inf or NaN give defined bytes, though useless ones.
// Source of truth: llama.cpp ggml/src/ggml-quants.c, function ggml_quantize_chunk.
#pragma once

#include <cstdint>
#include <span>

#include "core/model/codec.h"
#include "quantizers/ggml/ggml_blocks.h"

namespace ckpt {

void encode_q4_0_scalar(const float* values, uint64_t blocks, BlockQ4_0* out);
void encode_q4_1_scalar(const float* values, uint64_t blocks, BlockQ4_1* out);
void encode_q5_0_scalar(const float* values, uint64_t blocks, BlockQ5_0* out);
void encode_q5_1_scalar(const float* values, uint64_t blocks, BlockQ5_1* out);
void encode_q8_0_scalar(const float* values, uint64_t blocks, BlockQ8_0* out);

void encode_q4_0_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ4_0* out);
void encode_q4_1_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ4_1* out);
void encode_q5_0_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ5_0* out);
void encode_q5_1_weighted_scalar(ConstFloatRows rows, std::span<const float> weights,
                                 BlockQ5_1* out);

void decode_q4_0_scalar(const BlockQ4_0* in, uint64_t blocks, float* values);
void decode_q4_1_scalar(const BlockQ4_1* in, uint64_t blocks, float* values);
void decode_q5_0_scalar(const BlockQ5_0* in, uint64_t blocks, float* values);
void decode_q5_1_scalar(const BlockQ5_1* in, uint64_t blocks, float* values);
void decode_q8_0_scalar(const BlockQ8_0* in, uint64_t blocks, float* values);

// ---- what the codecs call ---------------------------------------------------------------------
void encode_q4_0(const float* values, uint64_t blocks, BlockQ4_0* out);
void encode_q4_1(const float* values, uint64_t blocks, BlockQ4_1* out);
void encode_q5_0(const float* values, uint64_t blocks, BlockQ5_0* out);
void encode_q5_1(const float* values, uint64_t blocks, BlockQ5_1* out);
void encode_q8_0(const float* values, uint64_t blocks, BlockQ8_0* out);

void encode_q4_0_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ4_0* out);
void encode_q4_1_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ4_1* out);
void encode_q5_0_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ5_0* out);
void encode_q5_1_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ5_1* out);

void decode_q4_0(const BlockQ4_0* in, uint64_t blocks, float* values);
void decode_q4_1(const BlockQ4_1* in, uint64_t blocks, float* values);
void decode_q5_0(const BlockQ5_0* in, uint64_t blocks, float* values);
void decode_q5_1(const BlockQ5_1* in, uint64_t blocks, float* values);
void decode_q8_0(const BlockQ8_0* in, uint64_t blocks, float* values);

}  // namespace ckpt
