// Repacks packed INT4 into ggml's Q4_0: bits move, nothing is rounded.
//
//   codes   byte i holds values 2i (low) and 2i + 1        block   d, then byte j: values j (low)
//   scales  BF16, one per 32 or 128 values                         and j + 16
//
// Both store a value plus 8. BF16 has 8 significant bits, so F16 can hold every scale from 2^-17 to
// 65504, and other scales only if they end in zeros.
// Source: ggml/src/ggml-common.h (block_q4_0); compressed-tensors compressors/pack_quantized.
#include <cstring>

#include "core/model/float_convert.h"
#include "quantizers/codec_list.h"
#include "quantizers/ggml/block/block_quants.h"

namespace ckpt {
namespace {

struct HalfScale {
  uint16_t half;
  bool is_exact;
};

HalfScale half_scale(const std::byte* scales, uint64_t index) {
  uint16_t stored;
  std::memcpy(&stored, scales + index * sizeof stored, sizeof stored);
  const float value = float_from_bf16(stored);
  const uint16_t half = f16_from_float(value);
  const bool is_finite = (half & 0x7C00u) != 0x7C00u;
  return {half, is_finite && float_from_f16(half) == value};
}

template <uint32_t kGroup>
uint64_t move_int4_rows(ConstParts from, uint64_t rows, uint64_t row_values, Parts to) {
  const uint64_t row_blocks = row_values / BlockQ4_0::kValues;
  auto* out = reinterpret_cast<BlockQ4_0*>(to[0].data());
  uint64_t first_refused = rows;
  for (uint64_t b = 0; b < rows * row_blocks; ++b) {
    const std::byte* codes = from[0].data() + b * sizeof out[b].codes;
    const HalfScale scale = half_scale(from[1].data(), b * BlockQ4_0::kValues / kGroup);
    if (!scale.is_exact && first_refused == rows) first_refused = b / row_blocks;
    out[b].d = scale.half;
    for (uint32_t j = 0; j < sizeof out[b].codes; j += 2) {
      const auto low = static_cast<uint32_t>(codes[j / 2]);
      const auto high = static_cast<uint32_t>(codes[j / 2 + 8]);
      out[b].codes[j] = static_cast<uint8_t>((low & 15) | (high & 15) << 4);
      out[b].codes[j + 1] = static_cast<uint8_t>(low >> 4 | (high >> 4) << 4);
    }
  }
  return first_refused;
}

constexpr std::string_view kInexact = "a scale that is not an F16 number";
constexpr std::string_view kDecodeInstead =
    "the same without --keep-codes, which decodes the weights and rounds them again";

}  // namespace

constinit const Repack kInt4Repacks[2] = {
    {&kInt4Group32Codec, move_int4_rows<32>, kInexact, kDecodeInstead},
    {&kInt4Group128Codec, move_int4_rows<128>, kInexact, kDecodeInstead}};

}  // namespace ckpt
