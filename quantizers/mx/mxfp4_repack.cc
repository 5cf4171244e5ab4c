// Repacks MXFP4 of safetensors as ggml blocks and back: bits move, nothing is decoded.
//
//   codes   byte i holds values 2i (low) and 2i + 1        block   exponent, then byte j: values
//   scales  one exponent per 32 values                             j (low) and j + 16
//
// Source: ggml/src/ggml-common.h (block_mxfp4); llama.cpp conversion/base.py (repack_mxfp4_blocks).
// Note: exponents are the same, because ggml doubles the numbers and halves the scale.
#include "quantizers/codec_list.h"
#include "quantizers/nvfp4/fp4.h"
#include "quantizers/nvfp4/repack.h"

namespace ckpt {
namespace {

constexpr std::byte kE8m0Nan{0xFF};

// Returns the code of one value.
std::byte nibble_of(const std::byte* codes, uint32_t value) {
  const std::byte both = codes[value / 2];
  return value % 2 == 0 ? both & std::byte{0x0F} : both >> 4;
}

uint64_t move_mxfp4_rows(ConstParts from, uint64_t rows, uint64_t row_values, Parts to) {
  const uint64_t row_blocks = row_values / BlockMxfp4::kValues;
  auto* out = reinterpret_cast<BlockMxfp4*>(to[0].data());
  uint64_t first_refused = rows;
  for (uint64_t b = 0; b < rows * row_blocks; ++b) {
    const std::byte* codes = from[0].data() + b * sizeof out[b].codes;
    if (from[1][b] == kE8m0Nan && first_refused == rows) first_refused = b / row_blocks;
    out[b].exponent = static_cast<uint8_t>(from[1][b]);
    for (uint32_t j = 0; j < sizeof out[b].codes; ++j) {
      const std::byte packed = nibble_of(codes, j) | nibble_of(codes, j + 16) << 4;
      out[b].codes[j] = static_cast<uint8_t>(packed);
    }
  }
  return first_refused;
}

// Extracts codes and exponents of ggml's blocks. Any content is valid.
uint64_t unpack_mxfp4_rows(ConstParts from, uint64_t rows, uint64_t row_values, Parts to) {
  const uint64_t blocks = rows * (row_values / BlockMxfp4::kValues);
  const auto* in = reinterpret_cast<const BlockMxfp4*>(from[0].data());
  for (uint64_t b = 0; b < blocks; ++b) {
    std::byte* codes = to[0].data() + b * sizeof in[b].codes;
    to[1][b] = std::byte{in[b].exponent};
    for (uint32_t i = 0; i < sizeof in[b].codes; ++i) {
      const uint32_t first = 2 * i % 16;  // the first of two values in the same nibble
      const bool is_high = i >= 8;
      const auto code = [&](uint32_t j) {
        const std::byte both{in[b].codes[j]};
        return is_high ? both >> 4 : both & std::byte{0x0F};
      };
      codes[i] = code(first) | code(first + 1) << 4;
    }
  }
  return rows;
}

}  // namespace

constinit const Repack kMxfp4Unpack[1] = {{&kMxfp4Codec, unpack_mxfp4_rows, ""}};
constinit const Repack kMxfp4Repacks[1] = {
    {&kMxfp4CtCodec, move_mxfp4_rows, "a block scale that is NaN"}};

}  // namespace ckpt
