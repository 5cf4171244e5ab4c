// What codecs call where no kernel for the machine exists: the scalar functions themselves.
//
// A function moves from here to a *_simd.cc file when it gets kernels.
#include "quantizers/block_quants.h"
#include "quantizers/k_quants.h"

namespace ckpt {

void encode_q4_0_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ4_0* out) {
  encode_q4_0_weighted_scalar(rows, weights, out);
}
void decode_q4_0(const BlockQ4_0* in, uint64_t blocks, float* values) {
  decode_q4_0_scalar(in, blocks, values);
}

void encode_q4_1_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ4_1* out) {
  encode_q4_1_weighted_scalar(rows, weights, out);
}
void decode_q4_1(const BlockQ4_1* in, uint64_t blocks, float* values) {
  decode_q4_1_scalar(in, blocks, values);
}

void encode_q5_0_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ5_0* out) {
  encode_q5_0_weighted_scalar(rows, weights, out);
}
void decode_q5_0(const BlockQ5_0* in, uint64_t blocks, float* values) {
  decode_q5_0_scalar(in, blocks, values);
}

void encode_q5_1_weighted(ConstFloatRows rows, std::span<const float> weights, BlockQ5_1* out) {
  encode_q5_1_weighted_scalar(rows, weights, out);
}
void decode_q5_1(const BlockQ5_1* in, uint64_t blocks, float* values) {
  decode_q5_1_scalar(in, blocks, values);
}

void decode_q8_0(const BlockQ8_0* in, uint64_t blocks, float* values) {
  decode_q8_0_scalar(in, blocks, values);
}

void decode_q2_k(const BlockQ2K* in, uint64_t blocks, float* values) {
  decode_q2_k_scalar(in, blocks, values);
}

void decode_q3_k(const BlockQ3K* in, uint64_t blocks, float* values) {
  decode_q3_k_scalar(in, blocks, values);
}

void decode_q4_k(const BlockQ4K* in, uint64_t blocks, float* values) {
  decode_q4_k_scalar(in, blocks, values);
}

void decode_q5_k(const BlockQ5K* in, uint64_t blocks, float* values) {
  decode_q5_k_scalar(in, blocks, values);
}

void decode_q6_k(const BlockQ6K* in, uint64_t blocks, float* values) {
  decode_q6_k_scalar(in, blocks, values);
}

}  // namespace ckpt
