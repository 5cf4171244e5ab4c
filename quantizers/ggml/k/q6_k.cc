// Q6_K: 256 values in 16 sub-blocks of 16, each with a signed 8-bit scale, which a half float
// scales in turn; 6-bit codes. 6.5625 bits per value.
//
// Bytes: BlockQ6K. value = (f32(d) S) (q - 32).
// Each sub-block is searched with weights x^2, or with the given column weights. The scale of
// largest magnitude becomes S = -128: d = f16(1 / (-128 / it)), S = round(-128 / it * scale) at
// most 127. The final codes are x / (f32(d) S) rounded to nearest even, in -32..31.
//
// Note: a sub-block whose f32(d) S is 0 keeps the codes of its search, and those of a zero
// sub-block are 0, which represents -32. A block is all zero bytes if no scale reaches 1e-15. d
// overflows to Inf for values above about 128 * 32 * 65504.
// Source of truth: llama.cpp ggml/src/ggml-quants.c `quantize_row_q6_K_ref`.
#include <algorithm>
#include <cstring>

#include "core/model/float_convert.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/ggml/k/k_feedback.h"
#include "quantizers/ggml/k/k_levels.h"
#include "quantizers/ggml/k/k_quants.h"
#include "quantizers/ggml/k/k_search.h"
#include "quantizers/ggml/scale_search.h"
#include "quantizers/rounding.h"

namespace ckpt {
namespace {

constexpr uint32_t kBlock = 256;
constexpr uint32_t kSub = 16;
constexpr uint32_t kSubs = 16;

// Makes the block from the scales and codes of the search.
void finish(const float* values, const float* scales, uint8_t* codes, BlockQ6K& out) {
  const ExtremeValue extreme = find_extreme<kSubs>(scales);
  if (extreme.magnitude < kZeroMagnitude) {
    std::memset(&out, 0, sizeof(out));
    return;
  }
  const float inverse = -128.0f / extreme.value;
  out.d = f16_from_float(1 / inverse);
  for (uint32_t j = 0; j < kSubs; ++j) {
    out.scales[j] = static_cast<int8_t>(std::min(127, round_to_int(inverse * scales[j])));
  }
  finish_codes(values, codes, out);
}

void encode_block(const float* values, BlockQ6K& out) {
  float scales[kSubs];
  uint8_t codes[kBlock];
  for (uint32_t j = 0; j < kSubs; ++j) {
    const float* sub = values + kSub * j;
    float weights[kSub];
    for (uint32_t i = 0; i < kSub; ++i) weights[i] = sub[i] * sub[i];
    scales[j] = fit_signed<kSub>(sub, weights, 32, codes + kSub * j);
  }
  finish(values, scales, codes, out);
}

void encode_block_weighted(const float* values, const float* column_weights, BlockQ6K& out) {
  float scales[kSubs];
  uint8_t codes[kBlock];
  for (uint32_t j = 0; j < kSubs; ++j) {
    scales[j] =
        fit_signed<kSub>(values + kSub * j, column_weights + kSub * j, 32, codes + kSub * j);
  }
  finish(values, scales, codes, out);
}

}  // namespace

CKPT_SCALAR_ENCODER(encode_q6_k_scalar, BlockQ6K)
CKPT_SCALAR_WEIGHTED_ENCODER(encode_q6_k_weighted_scalar, BlockQ6K)

constinit const Codec kQ6KCodec =
    block_codec<Dtype::kQ6K, BlockQ6K, encode_q6_k, encode_q6_k_weighted, decode_q6_k, search_q6_k>(
        "6 bits, 16 values a scale of 8 bits; 6.56 bits a value");

}  // namespace ckpt
