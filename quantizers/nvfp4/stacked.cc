// NVFP4 of stacked experts with inputs before outputs, as ModelOpt exports some families.
//
//   X                 U8 [E, K/2, N]        byte (i, n): inputs 2i (low) and 2i + 1 of output n
//   X_weight_scale    F8_E4M3 [E, K/16, N]
//   X_weight_scale_2  F32 []                one per stack of experts
//   value             E2M1 (s t), as in nvfp4_modelopt
//
// Each band of 16 rows holds a block of every column; transposed, it is input for nvfp4_modelopt.
// Source: NVIDIA Model-Optimizer modelopt/torch/export/unified_export_hf.py (is_bmm_expert_weight).
#include <algorithm>
#include <array>
#include <cstring>

#include "quantizers/codec_list.h"
#include "quantizers/extreme_codes.h"
#include "quantizers/fp8/scaled.h"
#include "quantizers/nvfp4/checkpoint.h"

namespace ckpt {
namespace {

constexpr uint64_t kStackedColumns = 64;  // transposed together, in the first cache

// Columns [column, column + columns) of one band as blocks. A last band of fewer rows is padded
// with zeros, which are not stored.
struct TurnedBlocks {
  uint64_t first_row, rows;  // of the band, within the tensor
  uint64_t column, columns;
  std::array<float, kStackedColumns * kE2m1BlockValues> values;
  std::array<std::byte, kStackedColumns * kE2m1BlockBytes> codes;
  std::array<std::byte, kStackedColumns> scales;

  std::span<float> used_values() { return std::span(values).first(columns * kE2m1BlockValues); }
  std::span<std::byte> used_codes() { return std::span(codes).first(columns * kE2m1BlockBytes); }
  std::span<std::byte> used_scales() { return std::span(scales).first(columns); }
};

// The positions of a block's bytes in the parts.
struct StackedPlace {
  uint64_t width;
  uint64_t code(const TurnedBlocks& at, uint64_t pair) const {
    return (at.first_row / 2 + pair) * width + at.column;
  }
  uint64_t scale(const TurnedBlocks& at) const {
    return at.first_row / kE2m1BlockValues * width + at.column;
  }
};

template <class Visit>
void visit_stacked(uint64_t rows, uint64_t width, const Visit& visit) {
  TurnedBlocks blocks;
  for (uint64_t row = 0; row < rows; row += kE2m1BlockValues) {
    blocks.first_row = row;
    blocks.rows = std::min<uint64_t>(kE2m1BlockValues, rows - row);
    for (uint64_t column = 0; column < width; column += kStackedColumns) {
      blocks.column = column;
      blocks.columns = std::min(kStackedColumns, width - column);
      visit(blocks);
    }
  }
}

void turn_to_blocks(ConstFloatRows rows, TurnedBlocks& to) {
  if (to.rows < kE2m1BlockValues) to.values.fill(0);
  for (uint64_t row = 0; row < to.rows; ++row) {
    const float* from = rows.values.data() + (to.first_row + row) * rows.row_values + to.column;
    for (uint64_t c = 0; c < to.columns; ++c) to.values[c * kE2m1BlockValues + row] = from[c];
  }
}

void encode_stacked(ConstFloatRows rows, const EncodeContext& context, Parts parts) {
  const StackedPlace place{rows.row_values};
  // The tensor's scale is stored even without rows.
  kNvfp4ModeloptCodec.encode({{}, kE2m1BlockValues}, {context.stats, {}, context.options},
                             std::array<std::span<std::byte>, 3>{{{}, {}, parts[2]}});
  visit_stacked(rows.rows(), rows.row_values, [&](TurnedBlocks& blocks) {
    turn_to_blocks(rows, blocks);
    EncodeContext of_blocks{context.stats, {}, context.options};
    // A shortened band has no stored magnitudes.
    if (context.block_amax.size() >= place.scale(blocks) + blocks.columns) {
      of_blocks.block_amax = context.block_amax.subspan(place.scale(blocks), blocks.columns);
    }
    const std::array<std::span<std::byte>, 3> made = {blocks.used_codes(), blocks.used_scales(),
                                                      parts[2]};
    kNvfp4ModeloptCodec.encode({blocks.used_values(), kE2m1BlockValues}, of_blocks, made);
    for (uint64_t pair = 0; pair < (blocks.rows + 1) / 2; ++pair) {
      std::byte* to = parts[0].data() + place.code(blocks, pair);
      for (uint64_t c = 0; c < blocks.columns; ++c) {
        to[c] = blocks.codes[c * kE2m1BlockBytes + pair];
      }
    }
    std::memcpy(parts[1].data() + place.scale(blocks), blocks.scales.data(), blocks.columns);
  });
}

void decode_stacked(ConstParts parts, FloatRows rows) {
  const StackedPlace place{rows.row_values};
  visit_stacked(rows.rows(), rows.row_values, [&](TurnedBlocks& blocks) {
    if (blocks.rows < kE2m1BlockValues) blocks.codes.fill(std::byte{0});
    for (uint64_t pair = 0; pair < (blocks.rows + 1) / 2; ++pair) {
      const std::byte* from = parts[0].data() + place.code(blocks, pair);
      for (uint64_t c = 0; c < blocks.columns; ++c) {
        blocks.codes[c * kE2m1BlockBytes + pair] = from[c];
      }
    }
    std::memcpy(blocks.scales.data(), parts[1].data() + place.scale(blocks), blocks.columns);
    const std::array<std::span<const std::byte>, 3> stored = {blocks.used_codes(),
                                                              blocks.used_scales(), parts[2]};
    kNvfp4ModeloptCodec.decode(stored, {blocks.used_values(), kE2m1BlockValues});
    for (uint64_t row = 0; row < blocks.rows; ++row) {
      float* to = rows.values.data() + (blocks.first_row + row) * rows.row_values + blocks.column;
      for (uint64_t c = 0; c < blocks.columns; ++c) {
        to[c] = blocks.values[c * kE2m1BlockValues + row];
      }
    }
  });
}

constexpr PartRule kStackedParts[] = {{"", Dtype::kU8, 2, 1},
                                      {"_weight_scale", Dtype::kF8E4M3, 16, 1},
                                      {"_weight_scale_2", Dtype::kF32, 0, 0}};

}  // namespace

constinit const Codec kNvfp4StackedCodec{
    .name = "nvfp4_stacked",
    .help = "NVFP4 of stacked experts, inputs before outputs (ModelOpt); 4.5 bits a value",
    .scheme = Scheme::kNvfp4,
    .dialect = Dialect::kModeloptStack,
    .parts = kStackedParts,
    .band_rows = kE2m1BlockValues,
    .block_values = 1,
    .needs_stats = true,
    .scan = scan_amax,
    .encode = encode_stacked,
    .decode = decode_stacked,
    .scan_bf16 = scan_bf16_amax,
    .count_extreme = count_extreme_e2m1};

}  // namespace ckpt
