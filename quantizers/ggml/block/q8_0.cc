// Q8_0: 32 values share a scale; codes are signed bytes. 8.5 bits per value.
//
// Bytes: BlockQ8_0. d = max|x| / 127, code = x (1/d) rounded half away from zero; the float d is
// used for the codes and only then rounded to half, so value = f16(d) code.
// Zero blocks have d = 0 and codes 0. Weights are ignored, as ggml does. Values above 127 * 65504
// overflow d to Inf; with Inf or NaN in a block, what cannot be converted gets code 0.
// Source of truth: llama.cpp ggml/src/ggml-quants.c `quantize_row_q8_0_ref`.
#include "core/model/float_convert.h"
#include "quantizers/ggml/block/block_quants.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/rounding.h"

namespace ckpt {

void encode_q8_0_scalar(const float* values, uint64_t blocks, BlockQ8_0* out) {
  for (uint64_t b = 0; b < blocks; ++b, values += 32) {
    float largest = 0;
    for (int i = 0; i < 32; ++i) {
      const float magnitude = std::fabs(values[i]);
      largest = largest > magnitude ? largest : magnitude;  // a NaN persists until the next value
    }
    const float d = largest / 127;
    const float inverse = d != 0 ? 1 / d : 0.0f;
    out[b].d = f16_from_float(d);
    for (int i = 0; i < 32; ++i) {
      out[b].codes[i] = static_cast<int8_t>(round_half_away(values[i] * inverse));
    }
  }
}

void decode_q8_0_scalar(const BlockQ8_0* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, values += 32) {
    const float d = float_from_f16(in[b].d);
    for (int i = 0; i < 32; ++i) values[i] = static_cast<float>(in[b].codes[i]) * d;
  }
}

constinit const Codec kQ8_0Codec =
    block_codec<Dtype::kQ8_0, BlockQ8_0, encode_q8_0, nullptr, decode_q8_0>(
        "8 bits, 32 values a scale; 8.5 bits a value");

}  // namespace ckpt
