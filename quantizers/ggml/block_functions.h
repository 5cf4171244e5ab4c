// Declares the functions that encode and decode the blocks of a type.
//
// The functions ending in _scalar are the specification: plain loops that execute every float
// operation in the order of ggml's reference, so that the bytes equal its bytes. The functions
// without the ending are called by codecs; they give the same bytes on any machine.
//
// `values` holds blocks x kValues floats, row-major. In the _weighted functions `weights` holds one
// weight per column (row_values of them); rows consist of complete blocks.
//
// Note: no sum may be reordered and no multiply-add fused. The weighted forms are other algorithms,
// not the plain ones with weights of 1. Inf and NaN give defined but useless bytes.
// Source of truth: llama.cpp ggml/src/ggml-quants.c, function ggml_quantize_chunk.
#pragma once

#include <cstdint>
#include <span>

#include "core/model/codec.h"

namespace ckpt {

template <class Block>
inline constexpr bool kFiveBits = requires(Block block) {
  block.high_bits;
};
template <class Block>
inline constexpr bool kHasMinimum = requires(Block block) {
  block.m;
};

template <class Block>
using EncodeWeightedRows = void(ConstFloatRows, std::span<const float> weights, Block*);

// Calls encode(values, column weights, block) for each block of the rows.
template <class Block, class Encode>
void encode_weighted_blocks(ConstFloatRows rows, std::span<const float> weights, Block* out,
                            const Encode& encode) {
  const uint64_t row_blocks = rows.row_values / Block::kValues;
  for (uint64_t b = 0; b < rows.values.size() / Block::kValues; ++b) {
    encode(rows.values.data() + b * Block::kValues,
           weights.data() + b % row_blocks * Block::kValues, out[b]);
  }
}

// Encodes types with codebooks by encode_iq_block(kSearch, values, column weights or null, block).
template <auto kSearch, class Block>
void encode_iq_blocks(const float* values, uint64_t blocks, Block* out) {
  for (uint64_t b = 0; b < blocks; ++b) {
    encode_iq_block(kSearch, values + b * Block::kValues, nullptr, out[b]);
  }
}
template <auto kSearch, class Block>
void encode_iq_rows_weighted(ConstFloatRows rows, std::span<const float> weights, Block* out) {
  encode_weighted_blocks(rows, weights, out, [](const float* in, const float* columns, Block& to) {
    encode_iq_block(kSearch, in, columns, to);
  });
}

}  // namespace ckpt

#define CKPT_DECLARE_ENCODER(name, Block)                                        \
  void encode_##name##_scalar(const float* values, uint64_t blocks, Block* out); \
  void encode_##name(const float* values, uint64_t blocks, Block* out);
#define CKPT_DECLARE_WEIGHTED_ENCODER(name, Block)                                          \
  void encode_##name##_weighted_scalar(ConstFloatRows rows, std::span<const float> weights, \
                                       Block* out);                                         \
  void encode_##name##_weighted(ConstFloatRows rows, std::span<const float> weights, Block* out);
#define CKPT_DECLARE_DECODER(name, Block)                                       \
  void decode_##name##_scalar(const Block* in, uint64_t blocks, float* values); \
  void decode_##name(const Block* in, uint64_t blocks, float* values);
#define CKPT_DECLARE_ALL(name, Block)        \
  CKPT_DECLARE_ENCODER(name, Block)          \
  CKPT_DECLARE_WEIGHTED_ENCODER(name, Block) \
  CKPT_DECLARE_DECODER(name, Block)
