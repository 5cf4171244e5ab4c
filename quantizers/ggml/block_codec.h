// Makes a Codec from the functions that encode and decode blocks of one ggml type.
//
// The block struct determines sizes and the values per block. Its members d, dmin and m, or
// half_d() if no member holds d, are the half floats that first_overflow checks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/model/codec.h"
#include "quantizers/codec_list.h"
#include "quantizers/extreme_codes.h"
#include "quantizers/ggml/block_functions.h"
#include "quantizers/plain/plain_simd.h"

// Defines the scalar twins of a type by encode_block(values, block), decode_block(block, values)
// and encode_block_weighted(values, column weights, block).
#define CKPT_SCALAR_ENCODER(name, Block)                                                     \
  void name(const float* values, uint64_t blocks, Block* out) {                              \
    for (uint64_t b = 0; b < blocks; ++b) encode_block(values + b * Block::kValues, out[b]); \
  }
#define CKPT_SCALAR_WEIGHTED_ENCODER(name, Block)                                        \
  void name(ConstFloatRows rows, std::span<const float> weights, Block* out) {           \
    encode_weighted_blocks(rows, weights, out,                                           \
                           [](const float* values, const float* columns, Block& block) { \
                             encode_block_weighted(values, columns, block);              \
                           });                                                           \
  }
#define CKPT_SCALAR_DECODER(name, Block)                                                    \
  void name(const Block* in, uint64_t blocks, float* values) {                              \
    for (uint64_t b = 0; b < blocks; ++b) decode_block(in[b], values + b * Block::kValues); \
  }

namespace ckpt {

template <class Block>
using EncodeBlocks = void (*)(const float* values, uint64_t blocks, Block* out);
template <class Block>
using DecodeBlocks = void (*)(const Block* in, uint64_t blocks, float* values);

// kWeighted is a void (ConstFloatRows, std::span<const float> weights, Block*), or nullptr if the
// type ignores weights. kSearch has the same type and improves existing blocks for
// ScaleSearch::kBest; nullptr: no such search. Types with a search also support error feedback,
// where a column's weight defaults to that of its inputs.
template <class Block, EncodeBlocks<Block> kEncode, auto kWeighted, auto kSearch>
void encode_part(ConstFloatRows rows, const EncodeContext& context, Parts parts) {
  auto* out = reinterpret_cast<Block*>(parts[0].data());
  bool done = false;
  std::span<const float> weights = context.column_weights;
  if constexpr (!std::is_null_pointer_v<decltype(kSearch)>) {
    const bool has_own = context.feedback != nullptr && weights.empty();
    if (has_own) weights = context.feedback->weights;
  }
  if constexpr (!std::is_null_pointer_v<decltype(kWeighted)>) {
    done = !weights.empty();
    if (done) kWeighted(rows, weights, out);
  }
  if (!done) kEncode(rows.values.data(), rows.values.size() / Block::kValues, out);
  if constexpr (!std::is_null_pointer_v<decltype(kSearch)>) {
    if (context.options.search == ScaleSearch::kBest) kSearch(rows, weights, out);
    if (context.feedback != nullptr) round_with_feedback(rows, *context.feedback, out);
  }
}

// kSearch for types that round codes with feedback but do not search scales.
template <class Block>
void only_feedback(ConstFloatRows, std::span<const float>, Block*) {}

// Converts pieces of bf16 whose floats fit into the first-level cache.
template <Dtype kDtype, class Block, EncodeBlocks<Block> kEncode>
bool encode_bf16_part(std::span<const std::byte> values, const EncodeContext& context,
                      Parts parts) {
  constexpr uint64_t kStepValues = 4096, kStepBytes = kStepValues * sizeof(uint16_t);
  constexpr float kEnd = kDtypeInfos[static_cast<size_t>(kDtype)].end;
  static_assert(kStepValues % Block::kValues == 0);
  if (context.options.search == ScaleSearch::kBest) return false;
  auto* out = reinterpret_cast<Block*>(parts[0].data());
  alignas(64) float floats[kStepValues];
  while (!values.empty()) {
    const auto piece = values.first(std::min<uint64_t>(kStepBytes, values.size()));
    const uint64_t count = piece.size() / sizeof(uint16_t);
    if (!decode_bf16_below(kEnd, piece.data(), count, floats)) return false;
    kEncode(floats, count / Block::kValues, out);
    out += count / Block::kValues;
    values = values.subspan(piece.size());
  }
  return true;
}

template <class Block, DecodeBlocks<Block> kDecode>
void decode_part(ConstParts parts, FloatRows rows) {
  kDecode(reinterpret_cast<const Block*>(parts[0].data()), rows.values.size() / Block::kValues,
          rows.values.data());
}

inline bool is_finite_f16(uint16_t half) { return (half & 0x7C00u) != 0x7C00u; }

template <class Block>
bool has_finite_scales(const Block& block) {
  bool finite = true;
  if constexpr (requires { block.d; }) finite = is_finite_f16(block.d);
  if constexpr (requires { block.half_d(); }) finite = is_finite_f16(block.half_d());
  if constexpr (requires { block.dmin; }) finite = finite && is_finite_f16(block.dmin);
  if constexpr (requires { block.m; }) finite = finite && is_finite_f16(block.m);
  return finite;
}

template <class Block>
uint64_t first_overflow_row(ConstParts parts, uint64_t rows, uint64_t row_values) {
  const auto* block = reinterpret_cast<const Block*>(parts[0].data());
  const uint64_t row_blocks = row_values / Block::kValues;
  for (uint64_t i = 0; i < rows * row_blocks; ++i) {
    if (!has_finite_scales(block[i])) return i / row_blocks;
  }
  return rows;
}

template <class Block>
uint64_t count_extreme_part(ConstParts parts, uint64_t values) {
  const auto* block = reinterpret_cast<const Block*>(parts[0].data());
  uint64_t count = 0;
  for (uint64_t i = 0; i < values / Block::kValues; ++i) count += count_extreme_codes(block[i]);
  return count;
}

template <Dtype kDtype, class Block, EncodeBlocks<Block> kEncode, auto kWeighted,
          DecodeBlocks<Block> kDecode, auto kSearch = nullptr>
constexpr Codec block_codec(std::string_view help) {
  constexpr const DtypeInfo& kInfo = kDtypeInfos[static_cast<size_t>(kDtype)];
  static_assert(sizeof(Block) == kInfo.size_bytes && Block::kValues == kInfo.values);
  Codec codec = one_part_codec<kDtype>(help);
  if constexpr (
      requires(Block block) { block.d; } || requires(Block block) { block.half_d(); }) {
    codec.first_overflow = first_overflow_row<Block>;
  }
  codec.encode = encode_part<Block, kEncode, kWeighted, kSearch>;
  codec.encode_bf16 = encode_bf16_part<kDtype, Block, kEncode>;
  codec.decode = decode_part<Block, kDecode>;
  if constexpr (requires(Block block) { count_extreme_codes(block); }) {
    codec.count_extreme = count_extreme_part<Block>;
  }
  return codec;
}

// `repacks` are for codecs whose bits can be moved into these blocks.
constexpr Codec with_repacks(Codec codec, std::span<const Repack> repacks) {
  codec.repacks = repacks;
  return codec;
}

}  // namespace ckpt
