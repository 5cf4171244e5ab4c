// TQ1_0 and TQ2_0: ternary numbers (-1, 0 and 1 times the largest magnitude of 256 values), packed
// as five base-3 digits per byte or as two bits each.
//
// Bytes: BlockTq1_0, BlockTq2_0. value = d (t - 1). d = max abs x; t - 1 = x (1/d), half away from
// zero.
//
// Note: models that were not trained to be ternary lose almost everything: d is the largest
// magnitude, so values below half of it become 0.
// Source of truth: llama.cpp ggml/src/ggml-quants.c `quantize_row_tq1_0_ref`, `_tq2_0_ref`.
#include "quantizers/ggml/ternary/tq.h"

#include <cmath>

#include "core/model/float_convert.h"
#include "quantizers/ggml/block_codec.h"
#include "quantizers/rounding.h"

namespace ckpt {
namespace {

constexpr uint32_t kTqValues = 256;

// Finds the digits of a block: 0, 1 or 2.
void find_trits(const float* values, uint16_t& d, uint32_t* trits) {
  float largest = 0;
  for (uint32_t i = 0; i < kTqValues; ++i) {
    const float magnitude = std::fabs(values[i]);
    largest = largest > magnitude ? largest : magnitude;
  }
  d = f16_from_float(largest);
  const float inverse = largest != 0 ? 1 / largest : 0.0f;
  for (uint32_t i = 0; i < kTqValues; ++i) {
    const float scaled = values[i] * inverse;
    // The inverse of the smallest floats is Inf; the original then stores 0.
    trits[i] = static_cast<uint32_t>(std::isfinite(scaled) ? round_half_away(scaled) + 1 : 1);
  }
}

// Packs five digits, `step` apart, into a byte; the last may be missing.
uint8_t pack_trits(const uint32_t* trits, uint32_t step, uint32_t count) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < 5; ++i) number = number * 3 + (i < count ? trits[i * step] : 0);
  // Rows with NaN have digits above 2; excess bits are lost, as in the original.
  return static_cast<uint8_t>(((number & 255) * 256 + 242) / 243);
}

float trit_value(uint32_t byte, uint32_t digit, float d) {
  constexpr uint32_t kPowers[5] = {1, 3, 9, 27, 81};
  const uint32_t trit = (byte * kPowers[digit] & 255) * 3 >> 8;
  return (static_cast<float>(trit) - 1) * d;
}

}  // namespace

void encode_tq1_0_scalar(const float* values, uint64_t blocks, BlockTq1_0* out) {
  for (uint64_t b = 0; b < blocks; ++b, ++out) {
    uint32_t trits[kTqValues];
    uint16_t d;
    find_trits(values + b * kTqValues, d, trits);
    out->d = d;
    for (uint32_t m = 0; m < 32; ++m) out->trits[m] = pack_trits(trits + m, 32, 5);
    for (uint32_t m = 0; m < 16; ++m) out->trits[32 + m] = pack_trits(trits + 160 + m, 16, 5);
    for (uint32_t m = 0; m < 4; ++m) out->trits_high[m] = pack_trits(trits + 240 + m, 4, 4);
  }
}

void encode_tq2_0_scalar(const float* values, uint64_t blocks, BlockTq2_0* out) {
  for (uint64_t b = 0; b < blocks; ++b, ++out) {
    uint32_t trits[kTqValues];
    uint16_t d;
    find_trits(values + b * kTqValues, d, trits);
    out->d = d;
    for (uint32_t i = 0; i < 64; ++i) {
      const uint32_t* first = trits + i / 32 * 128 + i % 32;
      out->codes[i] = static_cast<uint8_t>((first[0] & 3) | (first[32] & 3) << 2 |
                                           (first[64] & 3) << 4 | (first[96] & 3) << 6);
    }
  }
}

void decode_tq1_0_scalar(const BlockTq1_0* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, ++in, values += kTqValues) {
    const float d = float_from_f16(in->d);
    for (uint32_t n = 0; n < 5; ++n) {
      for (uint32_t m = 0; m < 32; ++m) values[32 * n + m] = trit_value(in->trits[m], n, d);
      for (uint32_t m = 0; m < 16; ++m) {
        values[160 + 16 * n + m] = trit_value(in->trits[32 + m], n, d);
      }
      for (uint32_t m = 0; n < 4 && m < 4; ++m) {
        values[240 + 4 * n + m] = trit_value(in->trits_high[m], n, d);
      }
    }
  }
}

void decode_tq2_0_scalar(const BlockTq2_0* in, uint64_t blocks, float* values) {
  for (uint64_t b = 0; b < blocks; ++b, ++in, values += kTqValues) {
    const float d = float_from_f16(in->d);
    for (uint32_t i = 0; i < kTqValues; ++i) {
      const uint32_t q = in->codes[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
      values[i] = (static_cast<float>(q) - 1) * d;
    }
  }
}

constinit const Codec kTq1_0Codec =
    block_codec<Dtype::kTq1_0, BlockTq1_0, encode_tq1_0_scalar, nullptr, decode_tq1_0_scalar>(
        "ternary, five values a byte; 1.69 bits a value");
constinit const Codec kTq2_0Codec =
    block_codec<Dtype::kTq2_0, BlockTq2_0, encode_tq2_0_scalar, nullptr, decode_tq2_0_scalar>(
        "ternary, four values a byte; 2.06 bits a value");

}  // namespace ckpt
